import { readOrders } from './orders.ts'
import { runInside } from './run-inside.ts'

process.exitCode = await runInside(readOrders(process.argv[2] ?? ''))
