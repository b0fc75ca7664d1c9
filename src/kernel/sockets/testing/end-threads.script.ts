import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

/** How many threads; they are ended after a few milliseconds each, one later than the other. */
const COUNT = Number(process.argv[2])
const AT_ONCE = 3

async function endOne(turn: number): Promise<void> {
  const thread = new Worker(new URL('./busy-thread.script.ts', import.meta.url))
  await once(thread, 'message')
  await delay((turn * 7) % 60)
  await thread.terminate()
}

async function endSome(first: number): Promise<void> {
  for (let turn = first; turn < COUNT; turn += AT_ONCE) await endOne(turn)
}

await Promise.all(Array.from({ length: AT_ONCE }, (_none, first) => endSome(first)))
process.stdout.write('ended\n')
