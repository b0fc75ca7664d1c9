import type { Clock } from '../../lib/clock.ts'
import type { ForwardObserver } from './forward-observer.ts'
import { createForwarder, type Forwarder } from './forwarder.ts'
import { type ListenAddress, refuseLoop } from './upstream/refuse-loop.ts'
import { readResolvConf } from './upstream/resolv-conf.ts'
import type { Upstream } from './upstream/upstream.ts'

/** Where upstreams are named. */
export interface UpstreamSettings {
  readonly upstreams: readonly Upstream[]
  /** A file of the resolver, whose servers come after the upstreams; empty: none. */
  readonly resolvConf: string
}

export interface OpenForwarderOptions {
  readonly settings: UpstreamSettings
  /** Where the server itself listens. */
  readonly listening: readonly ListenAddress[]
  readonly clock: Clock
  readonly observer: ForwardObserver
  /** Receives a sentence for each line of the file that is not used. */
  readonly onWarning: (warning: string) => void
}

/**
 * A forwarder for the upstreams of the settings; undefined when they name none.
 * @throws NP_DNS_RESOLV_CONF, NP_DNS_LOOP
 */
export async function openForwarder(options: OpenForwarderOptions): Promise<Forwarder | undefined> {
  const { settings, listening, clock, observer, onWarning } = options
  const upstreams = [...settings.upstreams]
  if (settings.resolvConf !== '') {
    const found = await readResolvConf(settings.resolvConf)
    for (const warning of found.warnings) onWarning(`${settings.resolvConf}: ${warning}`)
    upstreams.push(...found.upstreams)
  }
  if (upstreams.length === 0) return undefined
  refuseLoop(upstreams, listening)
  return createForwarder({ upstreams, clock, observer })
}
