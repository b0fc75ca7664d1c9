import type { IpAddress } from '../../../lib/ip.ts'
import type { Missing, ObjectKey } from '../../../modes/mode.ts'
import type { Node } from '../../../resources/types.ts'
import type { Binding, NodeProxyConfiguration } from '../../config/configuration.ts'
import type { Blueprint } from '../engine/engine.ts'
import type { Retiree } from '../engine/pending-cleanups.ts'
import type { KernelFacts } from '../node/netfilter-settings.ts'

/** What the settings of a mode are made from. */
export interface Situation {
  readonly config: NodeProxyConfiguration
  readonly node: Node | undefined
  readonly facts: KernelFacts
  /** Of this node's interfaces, without link-local ones. */
  readonly localAddresses: readonly IpAddress[]
}

/** Something that a mode cannot work without. */
export interface Lack extends Missing {
  /** Stands in docs/errors.md. */
  readonly code: string
}

export interface Readiness {
  /** Empty: the mode can work. */
  readonly lacks: readonly Lack[]
  /** For the log. */
  readonly facts: Readonly<Record<string, unknown>>
}

/** Milliseconds; see the fields of the same names in the documentation of the configuration. */
export interface Periods {
  readonly syncPeriod: number
  readonly minSyncPeriod: number
}

/** One way to forward as the daemon sees it, at work or not. */
export interface ModeKind {
  readonly name: string
  /** What readiness depends on in the configuration: plain data. */
  demands(config: NodeProxyConfiguration): unknown
  /**
   * Opens and loads what only this mode needs, and asks the kernel whether it can do
   * it. Programs nothing. What is missing makes it close again what it opened.
   */
  prepare(situation: Situation): Promise<Readiness>
  /** Once it is ready. */
  blueprint(situation: Situation): Blueprint
  periods(config: NodeProxyConfiguration): Periods
  /** Makes the kernel's settings as mode and configuration ask; again after every change. */
  tune(config: NodeProxyConfiguration): void
  /** Addresses of this machine at which it listens for single Services; `unused`: at none of them. */
  bindings?(config: NodeProxyConfiguration): readonly Binding[] | 'unused'
  /** What must stand before loopback is routed; undefined: the mode does not route it. */
  loopbackGuards(config: NodeProxyConfiguration): readonly ObjectKey[] | undefined
  /** Whether an earlier run left something that serves. */
  isServing(): Promise<boolean>
  /** Removes what an earlier run may have left; undefined where this kernel never had the mode. */
  leftovers(situation: () => Situation): Retiree | undefined
  /** The kernel refused something: looks whether it lost what the mode needs, and brings it back. */
  recover(config: NodeProxyConfiguration): Promise<void>
  /** Closes what `prepare` opened. */
  close(): Promise<void>
}
