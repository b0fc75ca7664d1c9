import { type ChildProcess, fork } from 'node:child_process'
import { constants, createReadStream, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { deserialize } from 'node:v8'
import { encodeReport, type Order, type Report } from './protocol.ts'

/**
 * Runs in the kernel: starts vitest's own workers, and carries what they and
 * vitest say to each other. Orders come as files of the shared folder (the first
 * argument), whose names come over the channel; reports go over the channel.
 */
const [, , inbox = ''] = process.argv
const path = process.env['UML_CHANNEL'] ?? ''
const channel = openSync(path, constants.O_RDWR | constants.O_NOCTTY)
const workers = new Map<number, ChildProcess>()

const BEAT_MS = 5000
/** Between the polite and the final signal. */
const GRACE_MS = 500

function report(each: Report): void {
  for (let rest = encodeReport(each); rest.length > 0; ) {
    rest = rest.subarray(writeSync(channel, rest))
  }
}

function obey(order: Order): void {
  if (order.kind === 'start') return start(order)
  const worker = workers.get(order.worker)
  if (order.kind === 'message') worker?.send(order.data as object)
  else {
    worker?.kill()
    setTimeout(() => worker?.kill('SIGKILL'), GRACE_MS)
  }
}

function start({ worker, entrypoint, execArgv, env }: Extract<Order, { kind: 'start' }>): void {
  const child = fork(entrypoint, [], {
    env: { ...env },
    execArgv: [...execArgv],
    stdio: 'pipe',
    serialization: 'advanced',
  })
  workers.set(worker, child)
  child.on('message', (data: unknown) => report({ kind: 'message', worker, data }))
  for (const to of ['stdout', 'stderr'] as const) {
    child[to]?.setEncoding('utf8')
    child[to]?.on('data', (text: string) => report({ kind: 'output', worker, to, text }))
  }
  child.on('error', (error) => {
    report({ kind: 'output', worker, to: 'stderr', text: `${error.stack}\n` })
  })
  child.on('close', (code, signal) => {
    workers.delete(worker)
    report({ kind: 'exit', worker, code, signal })
  })
}

const names = createInterface({ input: createReadStream('', { fd: channel, autoClose: false }) })
names.on('line', (name) => {
  const file = join(inbox, name)
  const order = deserialize(readFileSync(file)) as Order
  unlinkSync(file)
  obey(order)
})
setInterval(() => report({ kind: 'beat' }), BEAT_MS)
report({ kind: 'beat' })
