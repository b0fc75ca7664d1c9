import {
  type CommandOptions,
  type ContainerTarget,
  type LogOptions,
  type NodeStreams,
  type PodDialer,
  type PodTarget,
  type RunningCommand,
  StreamRefusal,
} from '../../streams/node-streams.ts'
import type { PodFleet } from './pod-fleet.ts'

/** The streams of the Pods that run now. */
export class RunningFleet implements NodeStreams {
  /** Undefined: the node agent does not run. */
  fleet: PodFleet | undefined

  async logs(
    target: ContainerTarget,
    options: LogOptions,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Buffer> | StreamRefusal> {
    return this.fleet?.find(target)?.access.logs(target.container, options, signal) ?? absent()
  }

  async run(
    target: ContainerTarget,
    options: CommandOptions,
  ): Promise<RunningCommand | StreamRefusal> {
    const worker = this.fleet?.find(target)
    if (worker === undefined) return absent()
    if (worker.isRunning(target.container)) return worker.access.run(target.container, options)
    const what = JSON.stringify(target.container)
    return new StreamRefusal('invalid', `container ${what} does not run`)
  }

  async dialer(target: PodTarget): Promise<PodDialer | StreamRefusal> {
    return this.fleet?.find(target)?.access.dialer() ?? absent()
  }
}

function absent(): StreamRefusal {
  return new StreamRefusal(
    'absent',
    'the pod is not known to the agent of its node yet, or is gone',
  )
}
