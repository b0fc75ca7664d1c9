import type { ModeDefinition } from '../../modes/definition/mode-definition.ts'
import { iptables } from '../../modes/iptables/driver.ts'
import { ipvs } from '../../modes/ipvs/driver/definition.ts'
import { nftables } from '../../modes/nftables/driver/definition.ts'
import { userspace } from '../../modes/userspace/driver/definition.ts'

/** The modes of this build, best first: what `mode: auto` tries, and what errors name. */
export const MODES = [
  nftables,
  ipvs,
  iptables,
  userspace,
] as const satisfies readonly ModeDefinition[]

/** The configuration fields of all modes together. */
export type ModeConfiguration =
  PeriodsOf<(typeof MODES)[number]> extends (config: infer Configuration) => unknown
    ? Configuration
    : never

type PeriodsOf<Definition> = Definition extends { readonly periods: infer Periods }
  ? Periods
  : never
