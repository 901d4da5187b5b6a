/*
 * op_list.h - ops in a row, linked by store_next: for a store, which has them between submit and the answer.
 */
#ifndef CLAIMD_STORE_OP_LIST_H
#define CLAIMD_STORE_OP_LIST_H

#include "../op.h"

struct op_list {
	struct op *first, **end;
};

void op_list_init(struct op_list *list);
void op_list_push(struct op_list *list, struct op *op);
/* The first, taken out; NULL: there is none. */
struct op *op_list_pop(struct op_list *list);
/* Puts all of `from` behind what is there. */
void op_list_join(struct op_list *list, struct op_list *from);

#endif
