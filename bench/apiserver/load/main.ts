import { createInterface } from 'node:readline'
import { Crowd } from './crowd.ts'
import { fanOut } from './fan-out.ts'
import type { LoadOrder, LoadReports } from './order.ts'
import { patch } from './patch.ts'
import { readiness } from './readiness.ts'
import { create, get, list } from './requests.ts'

/** The load generator: a process of its own, so that its processor time does not count as the server's. */
const crowd = new Crowd()

for await (const line of createInterface({ input: process.stdin })) {
  const report = await answer(JSON.parse(line) as LoadOrder)
  process.stdout.write(`${JSON.stringify(report)}\n`)
}

async function answer(
  order: LoadOrder,
): Promise<LoadReports[keyof LoadReports] | { readonly error: string }> {
  try {
    return await follow(order)
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

async function follow(order: LoadOrder): Promise<LoadReports[keyof LoadReports]> {
  switch (order.what) {
    case 'create':
      return create(order)
    case 'get':
      return get(order)
    case 'list':
      return list(order)
    case 'patch':
      return patch(order)
    case 'fanOut':
      return fanOut(order, crowd)
    case 'readiness':
      return readiness(order)
    case 'hold':
      crowd[Symbol.dispose]()
      await crowd.open(order, order.watchers)
      return { watchers: crowd.size }
  }
}
