import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** What a process serves: functions of values that can be sent. */
export type CallTable = Readonly<Record<string, (argument: never) => unknown>>

export interface Call {
  readonly number: number
  readonly name: string
  readonly argument: unknown
}

/** A message of a process: that it is ready, the answer to a call, or an event. */
export type Saying =
  | { readonly kind: 'ready' }
  | { readonly kind: 'answer'; readonly number: number; readonly result: unknown }
  | { readonly kind: 'failure'; readonly number: number; readonly reason: string }
  | { readonly kind: 'news'; readonly news: unknown }

export interface RemoteOptions {
  readonly args?: readonly string[]
  readonly onNews?: (news: unknown) => void
  /** The niceness of the process (nice(1)): -20 to 19; 0 unless set. */
  readonly nice?: number
}

type Argument<F> = F extends (argument: infer A) => unknown ? A : never
type Result<F> = F extends (argument: never) => infer R ? Awaited<R> : never

/** A process inside a network namespace, which runs the calls of its parent (`serveCalls`). */
export class Remote<Calls> {
  readonly ready: Promise<void>
  readonly pid: number
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  readonly #ended: Promise<unknown>
  #last = 0

  constructor(namespace: string, script: string, { args = [], onNews, nice = 0 }: RemoteOptions) {
    const node = [process.execPath, '--no-warnings', '--expose-gc', script, ...args]
    const enter = ['-n', String(nice), 'ip', 'netns', 'exec', namespace]
    this.#child = spawn('nice', [...enter, ...node], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
    })
    this.pid = this.#child.pid ?? 0
    const isReady = Promise.withResolvers<void>()
    this.ready = isReady.promise
    this.#child.on('message', (saying: Saying) => {
      if (saying.kind === 'ready') isReady.resolve()
      else if (saying.kind === 'news') onNews?.(saying.news)
      else this.#answered(saying)
    })
    this.#ended = once(this.#child, 'exit').then(([status, signal]) => {
      const gone = new Error(`${script} ended: ${String(status ?? signal)}`)
      isReady.reject(gone)
      for (const { reject } of this.#waiting.values()) reject(gone)
    })
  }

  call<Name extends keyof Calls & string>(
    name: Name,
    argument?: Argument<Calls[Name]>,
  ): Promise<Result<Calls[Name]>> {
    const number = ++this.#last
    const waiter = Promise.withResolvers<unknown>()
    this.#waiting.set(number, waiter)
    this.#child.send({ number, name, argument } satisfies Call)
    return waiter.promise as Promise<Result<Calls[Name]>>
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended
  }

  #answered(saying: Saying & { readonly kind: 'answer' | 'failure' }): void {
    const waiter = this.#waiting.get(saying.number)
    this.#waiting.delete(saying.number)
    if (saying.kind === 'answer') waiter?.resolve(saying.result)
    else waiter?.reject(new Error(saying.reason))
  }
}
