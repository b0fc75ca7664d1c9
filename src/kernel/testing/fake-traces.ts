import type { IptablesVariant } from '../iptables/iptables.ts'
import type { ChainId, FoundProcess, TableFamily, Traces } from '../traces.ts'

/** Traces that the test names. */
export class FakeTraces implements Traces {
  /** `4/nat/KUBE-SERVICES` */
  readonly chains = new Map<string, readonly IptablesVariant[]>()
  /** `6/kube-proxy` */
  readonly nftTables = new Set<string>()
  readonly present = new Set<string>()
  running: readonly FoundProcess[] = []
  /** How often processes were looked for. */
  searches = 0
  closed = false

  async variantsWith({ family, table, chain }: ChainId): Promise<readonly IptablesVariant[]> {
    return this.chains.get(`${family}/${table}/${chain}`) ?? []
  }

  async hasNftTable(family: TableFamily, name: string): Promise<boolean> {
    return this.nftTables.has(`${family}/${name}`)
  }

  async devices(): Promise<ReadonlySet<string>> {
    return this.present
  }

  async processes(names: readonly string[]): Promise<readonly FoundProcess[]> {
    this.searches++
    return this.running.filter(({ name }) => names.includes(name))
  }

  close(): void {
    this.closed = true
  }
}
