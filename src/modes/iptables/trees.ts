import { DispatchTree } from './dispatch-tree.ts'
import { CHAIN, type OwnTable, PREFIX } from './names.ts'
import type { Dispatch } from './render.ts'

/** The four dispatch trees of one family: by address and by node port, in nat and in filter. */
export class Trees {
  readonly #trees: Readonly<
    Record<OwnTable, { readonly vips: DispatchTree; readonly ports: DispatchTree }>
  >

  constructor() {
    const vips = (root: string) => new DispatchTree(root, `${PREFIX}V-`)
    const ports = (root: string) => new DispatchTree(root, `${PREFIX}P-`)
    this.#trees = {
      nat: { vips: vips(CHAIN.vips), ports: ports(CHAIN.nodePorts) },
      filter: { vips: vips(CHAIN.filterVips), ports: ports(CHAIN.filterNodePorts) },
    }
  }

  add(dispatch: Dispatch): void {
    this.#replace(dispatch, dispatch.nat, dispatch.filter)
  }

  remove(dispatch: Pick<Dispatch, 'id' | 'key' | 'nodePort'>): void {
    this.#replace(dispatch, [], [])
  }

  /** Chains of a table whose rules changed since the last call. */
  takeChanged(table: OwnTable): readonly string[] {
    const { vips, ports } = this.#trees[table]
    return [...vips.takeChanged(), ...ports.takeChanged()]
  }

  rules(table: OwnTable, chain: string): readonly string[] | undefined {
    const { vips, ports } = this.#trees[table]
    return vips.rules(chain) ?? ports.rules(chain)
  }

  #replace(
    { id, key, nodePort }: Pick<Dispatch, 'id' | 'key' | 'nodePort'>,
    nat: readonly string[],
    filter: readonly string[],
  ): void {
    const kind = nodePort ? 'ports' : 'vips'
    this.#trees.nat[kind].replace(id, key, nat)
    this.#trees.filter[kind].replace(id, key, filter)
  }
}
