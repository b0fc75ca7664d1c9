import { parseIp } from '../../../lib/ip.ts'
import type { BackgroundContext } from '../background-context.ts'
import { ApiServicePublisher } from './api-service-publisher.ts'
import { unreachableBecause } from './replica-address.ts'

/** The Services of the API with this server among their endpoints. */
export interface Advertisement {
  /** Why the Services do not lead to this server; undefined when they do. */
  readonly unreachable: string | undefined
  /** Takes this server out of the Services; before the server closes. */
  stop(): Promise<void>
}

/** Keeps the Services of the API, and their endpoints pointing at this server if Pods can reach it. */
export function advertise(
  context: BackgroundContext,
  { address, port }: { readonly address: string; readonly port: number },
  onError: (error: unknown) => void,
): Advertisement {
  const unreachable = unreachableBecause(address, context.allocator.ranges[0]?.family ?? 4)
  const ip = unreachable === undefined ? parseIp(address) : undefined
  const replica = ip === undefined ? undefined : { ip, port }
  const publisher = new ApiServicePublisher({ context, replica, onError })
  return { unreachable, stop: () => publisher.stop() }
}
