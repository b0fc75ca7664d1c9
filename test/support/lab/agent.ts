import { Worker } from 'node:worker_threads'
import type { AgentCalls, AgentReply } from '../agent/protocol.ts'
import { mainOfLab } from '../programs.ts'
import type { Namespace } from './namespace.ts'

/** The lab's handle of a running agent in one namespace. */
export interface Agent {
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

/**
 * Starts an agent in a namespace: a thread of this process, because a process of
 * its own would take ten times as long to start, and each pod has one.
 */
export function startAgent(namespace: Namespace): Agent {
  const worker = new Worker(mainOfLab('lab-agent'), {
    workerData: { namespace: namespace.name },
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  const waiting = new Map<number, Waiter>()
  let serial = 0
  worker.on('error', (cause) =>
    failAll(waiting, new Error(`agent of ${namespace.name}`, { cause })),
  )
  worker.on('exit', () => failAll(waiting, new Error(`agent of ${namespace.name} ended`)))
  worker.on('message', (reply: AgentReply) => settle(waiting, reply))
  return {
    call: (op, params) =>
      new Promise((resolve, reject) => {
        const id = ++serial
        waiting.set(id, { resolve, reject })
        worker.postMessage({ id, op, params })
      }),
    async stop() {
      await worker.terminate()
    },
  }
}

function settle(waiting: Map<number, Waiter>, reply: AgentReply): void {
  const waiter = waiting.get(reply.id)
  waiting.delete(reply.id)
  if ('error' in reply) waiter?.reject(new Error(reply.error))
  else waiter?.resolve(reply.result)
}

function failAll(waiting: Map<number, Waiter>, error: Error): void {
  for (const waiter of waiting.values()) waiter.reject(error)
  waiting.clear()
}
