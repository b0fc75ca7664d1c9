import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import { openWorkerResponder } from '../worker-responder.ts'

const COUNT = 5
const HANDLERS = { onConflict() {}, onLink() {}, onLost() {} }
const ends: Promise<unknown>[] = []
process.on('worker', (worker: Worker) => ends.push(once(worker, 'exit')))

/** Opens a responder, which this process may not do; returns the message, once the thread has ended. */
async function attempt(): Promise<string> {
  const { message } = await openWorkerResponder('lo', HANDLERS).then(
    () => new Error('opened'),
    (error: Error) => error,
  )
  await Promise.all(ends)
  return message
}

const descriptors = () => readdirSync('/proc/self/fd').length

const message = await attempt()
const before = descriptors()
for (let turn = 0; turn < COUNT; turn++) await attempt()
process.stdout.write(`${message}; ${descriptors() - before} descriptors left\n`)
