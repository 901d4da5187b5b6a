/* op_list.c - see op_list.h. Called by store.c and the drivers. Nothing can fail. */
#include "op_list.h"

void op_list_init(struct op_list *list)
{
	list->first = NULL;
	list->end = &list->first;
}

void op_list_push(struct op_list *list, struct op *op)
{
	op->store_next = NULL;
	*list->end = op;
	list->end = &op->store_next;
}

struct op *op_list_pop(struct op_list *list)
{
	struct op *op = list->first;

	if (op) {
		list->first = op->store_next;
		if (!list->first)
			list->end = &list->first;
	}
	return op;
}

void op_list_join(struct op_list *list, struct op_list *from)
{
	if (!from->first)
		return;
	*list->end = from->first;
	list->end = from->end;
	op_list_init(from);
}
