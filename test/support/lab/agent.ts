import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { AgentCalls, AgentReply } from '../agent/protocol.ts'
import type { Namespace } from './namespace.ts'

const PROGRAM = new URL('../agent/main.ts', import.meta.url).pathname

/** A running agent: the lab's hands inside one namespace. */
export interface Agent {
  readonly pid: number
  call<Op extends keyof AgentCalls>(
    op: Op,
    params: AgentCalls[Op]['params'],
  ): Promise<AgentCalls[Op]['result']>
  stop(): Promise<void>
}

interface Waiter {
  resolve(result: unknown): void
  reject(error: Error): void
}

/** Starts an agent in a namespace; it dies with this process, whatever happens to it. */
export function startAgent(namespace: Namespace): Agent {
  const node = [process.execPath, '--disable-warning=ExperimentalWarning']
  const command = ['netns', 'exec', namespace.name, ...node, PROGRAM]
  const child = spawn('ip', command, { stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting = new Map<number, Waiter>()
  let serial = 0
  child.stdin.on('error', () => {})
  child.on('error', (error) => failAll(waiting, error))
  child.on('exit', () => failAll(waiting, new Error(`agent of ${namespace.name} ended`)))
  createInterface({ input: child.stdout }).on('line', (line) => settle(waiting, line))
  return {
    pid: child.pid ?? 0,
    call: (op, params) =>
      new Promise((resolve, reject) => {
        const id = ++serial
        waiting.set(id, { resolve, reject })
        child.stdin.write(`${JSON.stringify({ id, op, params })}\n`)
      }),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.stdin.end()
      await ended
    },
  }
}

function settle(waiting: Map<number, Waiter>, line: string): void {
  const reply = JSON.parse(line) as AgentReply
  const waiter = waiting.get(reply.id)
  waiting.delete(reply.id)
  if ('error' in reply) waiter?.reject(new Error(reply.error))
  else waiter?.resolve(reply.result)
}

function failAll(waiting: Map<number, Waiter>, error: Error): void {
  for (const waiter of waiting.values()) waiter.reject(error)
  waiting.clear()
}
