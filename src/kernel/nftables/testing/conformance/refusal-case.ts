import type { Nftables } from '../../nftables.ts'
import type { Command } from '../../objects.ts'

/** What the kernel answers to one transaction. */
export interface RefusalCase {
  readonly name: string
  /** Taken before, in a transaction of its own. */
  readonly given?: readonly Command[]
  /** The same, of another socket, which stays open. */
  readonly other?: readonly Command[]
  readonly commands: readonly Command[]
  /** With a generation that is over. */
  readonly isLate?: true
  /** Absent: the kernel takes it. */
  readonly refused?: { readonly command?: number; readonly errno: number }
}

/** The answer to one case, over sockets of an nf_tables without tables, which is left so. */
export async function runCase(
  open: () => Nftables,
  { given = [], other = [], commands, isLate }: RefusalCase,
): Promise<RefusalCase['refused'] | 'not prepared'> {
  const [nftables, foreign] = [open(), open()]
  try {
    const generation = await nftables.generation()
    for (const [socket, prepared] of [[nftables, given] as const, [foreign, other] as const]) {
      if (await socket.commit(prepared)) return 'not prepared'
    }
    const error = await nftables.commit(commands, isLate ? generation : undefined)
    if (error === undefined) return undefined
    const { command, errno } = error
    return command === undefined ? { errno } : { command, errno }
  } finally {
    foreign.close()
    for (const { table } of [...given, ...commands]) {
      if (await nftables.read(table)) await nftables.commit([{ do: 'deleteTable', table }])
    }
    nftables.close()
  }
}
