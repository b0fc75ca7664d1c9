import type { ServiceKey } from '../../forwarding/entry.ts'
import type { Service } from '../../resources/types.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Digest, KernelError, MissingRequirement, ObjectKey, Program } from '../mode.ts'
import type { NetfilterConfiguration } from '../netfilter/settings/configuration.ts'

/** Where a mode raises and clears its conditions, which the health answers show. */
export type ConditionSink = Pick<Conditions, 'raise' | 'clear'>

/** Raises and clears the conditions that only one mode has. It is called again after every change. */
export interface ModeReview<C = unknown> {
  /** Services or the configuration changed. */
  services(conditions: ConditionSink, facts: ReviewFacts<C>): void
  /** Whether the configuration caused this error, not a Service. */
  isConfigured(error: KernelError): boolean
  /** The present errors for which `isConfigured` holds, by message; empty: none. */
  configuredErrors(conditions: ConditionSink, messages: readonly string[]): void
}

/** A mode over a kernel that it only reads: what it wants, and what the kernel holds of it. */
export interface ModeView {
  readonly program: Program
  /**
   * Whether the object is in the process of node-proxy and not in the kernel: a relay, a route of the forwarder.
   * `observe` does not report those of another process.
   */
  isInProcess(key: ObjectKey): boolean
  /** Why `mode: auto` takes another mode, as far as that can be read. */
  readonly caveats: readonly MissingRequirement[]
  /** Local ports of a running node-proxy to which rules translate. Flows that were translated to them stay. */
  readonly ownPorts: ReadonlySet<number>
  /** Whether connections may keep the mode in the kernel for a while after another mode serves. */
  readonly drains: boolean
  /** Digests of everything that the kernel holds of the mode, of earlier runs too. */
  observe(): Promise<ReadonlyMap<ObjectKey, Digest>>
  /** What the object holds as it is wanted, in the mode's own words, one line each; empty where it has none. */
  wantedLines(key: ObjectKey): readonly string[]
  /** The same as the kernel holds it; undefined: that is not known. */
  heldLines(key: ObjectKey): Promise<readonly string[] | undefined>
  /** Closes what was opened for it. */
  close(): Promise<void>
}

/** What conditions of a mode are computed from. */
interface ReviewFacts<C = unknown> {
  readonly config: NetfilterConfiguration & { readonly proxyName: string } & C
  /** Whether this mode forwards; conditions of the other modes are cleared. */
  readonly isAtWork: boolean
  readonly serviceOf: (key: ServiceKey) => Service | undefined
}
