# make-deliveries.jq - makes deliveries.jsonl: what a queue that delivers at least once sent one morning.
#
#   jq -n -c -f make-deliveries.jq >deliveries.jsonl
#
# Each line is one push delivery in the envelope of Pub/Sub. The numbers come from a seed, so the file is the same
# every time. 240 orders, and what makes their deliveries more than 240:
#   - the queue sends a message again, a little later or much later (same messageId, deliveryAttempt 2, 3)
#   - the queue sends a message twice at the same moment
#   - the shop publishes an order again: another messageId, the same content, its fields in another order
#   - one order is published again with another amount under the same number
#   - one order can never be placed: whoever works on it fails
#   - three messages cannot be read: cut off, without an order number, not an object

def orders: 240;
def seed: 20260302;

# Numbers 0 <= n < 1, always the same ones (Park and Miller).
[limit(orders * 8; seed | recurse(. * 16807 % 2147483647)) / 2147483647] as $random |

def random($order; $n): $random[$order * 8 + $n];

def order($i):
	{
		order: "A\(1001 + $i)",
		customer: "c\(100 + (random($i; 0) * 90 | floor))",
		sku: ["tea", "cup", "pot", "tin", "jar"][random($i; 1) * 5 | floor],
		quantity: (1 + (random($i; 2) * 4 | floor)),
		amount_cents: (250 + (random($i; 3) * 9750 | floor)),
		currency: (if $i == 99 then "XXX" else "EUR" end)
	};

# A delivery that comes at the moment `at` (in places of the file) of a message published at the moment `published`.
def delivery($at; $published; $id; $attempt; $data):
	{
		at: $at,
		line: {
			message: {
				data: ($data | @base64),
				messageId: "\(7300000000000 + $id)",
				publishTime: (1772442000 + ($published | floor) | todate | sub("Z$"; ".\(100 + $id % 900)Z")),
				attributes: {event: "order.placed"}
			},
			subscription: "projects/shop/subscriptions/place-orders",
			deliveryAttempt: $attempt
		}
	};

def reversed: to_entries | reverse | from_entries;

def deliveries($i):
	order($i) as $order |
	($order | tojson) as $data |
	delivery($i; $i; $i; 1; $data),
	(select(random($i; 4) < 0.30) | delivery($i + 2 + random($i; 5) * 30; $i; $i; 2; $data)),
	(select(random($i; 4) < 0.08) | delivery($i + 60 + random($i; 5) * 60; $i; $i; 3; $data)),
	(select(random($i; 6) < 0.15) | delivery($i + 0.001; $i; $i; 1; $data)),
	(select(random($i; 7) < 0.15) | delivery($i + 90 + random($i; 5) * 90; $i + 90; 1000 + $i; 1; $order | reversed | tojson));

[
	(range(orders) | deliveries(.)),
	delivery(180.5; 180; 2000; 1; order(20) | .amount_cents += 1000 | tojson),
	(range(2; 5) | delivery(99 + . * 12; 99; 99; .; order(99) | tojson)),
	delivery(40.5; 40; 2001; 1; order(40) | tojson | .[:37]),
	delivery(120.5; 120; 2002; 1; order(41) | .order = "" | tojson),
	delivery(200.5; 200; 2003; 1; "order A1042 please")
] | sort_by(.at) | .[].line
