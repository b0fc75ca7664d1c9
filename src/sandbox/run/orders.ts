import type { SandboxOptions } from './arguments.ts'
import type { Run } from './run.ts'

/** What the supervisor tells the process inside: its only argument, as JSON. */
export interface Orders {
  readonly run: Run
  readonly options: SandboxOptions
}

export function writeOrders(orders: Orders): string {
  return JSON.stringify(orders)
}

export function readOrders(text: string): Orders {
  return JSON.parse(text) as Orders
}
