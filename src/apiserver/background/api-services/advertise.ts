import { parseIp } from '../../../lib/ip.ts'
import type { BackgroundContext } from '../background-context.ts'
import { ApiServicePublisher } from './api-service-publisher.ts'
import { whyUnreachable } from './replica-address.ts'

/** A server that is among the endpoints of the Services of the API. */
export interface Advertisement {
  /** Why Pods cannot reach this server, which is in no endpoints then; undefined when they can. */
  readonly unreachable: string | undefined
  /** Takes this server out of the endpoints. To be called before the server closes. */
  stop(): Promise<void>
}

/** Keeps the Services of the API, with this server among their endpoints if Pods can reach it. */
export function advertise(
  context: BackgroundContext,
  { address, port }: { readonly address: string; readonly port: number },
  onError: (error: unknown) => void,
): Advertisement {
  const unreachable = whyUnreachable(address, context.allocator.ranges[0]?.family ?? 4)
  const ip = unreachable === undefined ? parseIp(address) : undefined
  const replica = ip === undefined ? undefined : { ip, port }
  const publisher = new ApiServicePublisher({ context, replica, onError })
  return { unreachable, stop: () => publisher.stop() }
}
