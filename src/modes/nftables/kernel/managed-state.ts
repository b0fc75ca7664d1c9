import type { Nftables } from '../../../kernel/nftables/nftables.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { NftablesProgram } from '../program/program.ts'
import { KernelRecord } from './kernel-record.ts'
import { Suspects } from './suspects.ts'

/** What one instance of the mode works on: what it wants, the kernel, and what it knows of it. */
export interface ManagedState {
  readonly nftables: Nftables
  readonly settings: NetfilterSettings
  readonly program: NftablesProgram
  readonly record: KernelRecord
  /** Elements that another program added, changed or deleted, until they are read. */
  readonly suspects: Suspects
}

/** Nothing is read or written yet. */
export function createManagedState(
  settings: NetfilterSettings,
  { nftables }: { readonly nftables: Nftables },
): ManagedState {
  const program = new NftablesProgram(settings)
  return { nftables, settings, program, record: new KernelRecord(), suspects: new Suspects() }
}
