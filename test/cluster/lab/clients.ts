import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import type {
  HeldOutcome,
  HeldTask,
  NamesTask,
  RequestsOutcome,
  RequestsTask,
  Task,
} from '../pods/tasks.ts'
import type { Kubectl } from './kubectl.ts'
import { PROGRAMS_AT } from './workloads.ts'

const CLIENT = fileURLToPath(new URL('../pods/client.ts', import.meta.url))
const TIMEOUT_MS = 10 * 60_000

/** Who connects: a Pod, or a client outside of the cluster. */
export interface Client {
  /** Connects as often as the task says. */
  connect(task: RequestsTask & { readonly count: number }): Promise<RequestsOutcome>
  /** The answers to a name; rejects where it does not exist. */
  resolve(task: Omit<NamesTask, 'kind'>): Promise<readonly string[]>
  /** Goes on while something happens. All connections have ended when it resolves. */
  during(task: RequestsTask, change: () => Promise<void>): Promise<RequestsOutcome>
  /** Holds connections while something happens. */
  holding(task: Omit<HeldTask, 'kind'>, change: () => Promise<void>): Promise<HeldOutcome>
}

/** In the network that the nodes are in. */
export function clientOutside(): Client {
  return clientBy([process.execPath, CLIENT])
}

export function clientInPod(kubectl: Kubectl, pod: string, namespace = 'default'): Client {
  const inside = ['-n', namespace, 'exec', '-i', pod, '--']
  return clientBy([...kubectl.command, ...inside, 'node', `${PROGRAMS_AT}/client.ts`])
}

function clientBy([program = '', ...args]: readonly string[]): Client {
  const start = (task: Task) =>
    execa(program, [...args, JSON.stringify(task)], { stdin: 'pipe', timeout: TIMEOUT_MS })
  const outcomeOf = async <T>(running: ReturnType<typeof start>): Promise<T> => {
    const { stdout } = await running
    return JSON.parse(stdout) as T
  }
  const meanwhile = async <T>(task: Task, change: () => Promise<void>): Promise<T> => {
    const running = start(task)
    try {
      await change()
    } finally {
      running.stdin.end()
    }
    return await outcomeOf<T>(running)
  }
  return {
    connect: (task) => outcomeOf<RequestsOutcome>(start(task)),
    resolve: (task) => outcomeOf<readonly string[]>(start({ ...task, kind: 'names' })),
    during: (task, change) => meanwhile<RequestsOutcome>(task, change),
    holding: (task, change) => meanwhile<HeldOutcome>({ ...task, kind: 'held' }, change),
  }
}
