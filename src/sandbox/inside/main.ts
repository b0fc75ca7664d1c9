import { readOrders } from '../run/orders.ts'
import { runInside } from './run-inside.ts'

// What still runs has had its time, and the supervisor removes the rest.
process.exit(await runInside(readOrders(process.argv[2] ?? '')))
