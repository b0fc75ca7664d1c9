import type { Nftables } from '../../../kernel/nftables/nftables.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { GUARD_TABLE, TABLE } from '../keys/names.ts'

/** Removes the tables of both families, of any earlier run; throws for what stays. */
export async function cleanUp(nftables: Nftables): Promise<void> {
  for (const family of [4, 6] as const) {
    for (const name of [TABLE, GUARD_TABLE]) {
      const table = { family, name }
      if ((await nftables.read(table)) === undefined) continue
      const error = await nftables.commit([{ do: 'deleteTable', table }])
      if (error === undefined) continue
      throw new NodeProxyError(
        'NP_NFTABLES_REFUSED',
        `table ${family === 4 ? 'ip' : 'ip6'} ${name} could not be removed: ${error.message}`,
      )
    }
  }
}
