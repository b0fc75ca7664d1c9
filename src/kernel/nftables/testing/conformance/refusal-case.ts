import type { Nftables } from '../../nftables.ts'
import type { Command } from '../../objects.ts'

/** The kernel's answer to one transaction. */
export interface RefusalCase {
  readonly name: string
  /** Commands that succeed before, in a separate transaction. */
  readonly given?: readonly Command[]
  /** The same for another socket. */
  readonly other?: readonly Command[]
  /** The other socket is closed before. */
  readonly isOtherClosed?: true
  readonly commands: readonly Command[]
  /** The transaction names an outdated generation. */
  readonly isLate?: true
  /** Absent if the kernel accepts the transaction. */
  readonly refused?: { readonly command?: number; readonly errno: number }
}

/** The answer to one case. It needs sockets of an nf_tables without tables, and leaves it empty. */
export async function runCase(
  open: () => Nftables,
  { given = [], other = [], commands, isLate, isOtherClosed }: RefusalCase,
): Promise<RefusalCase['refused'] | 'not prepared'> {
  const [nftables, otherSocket] = [open(), open()]
  try {
    const generation = await nftables.generation()
    for (const [socket, prepared] of [[nftables, given] as const, [otherSocket, other] as const]) {
      if (await socket.commit(prepared)) return 'not prepared'
    }
    if (isOtherClosed) otherSocket.close()
    const error = await nftables.commit(commands, isLate ? generation : undefined)
    if (error === undefined) return undefined
    const { command, errno } = error
    return command === undefined ? { errno } : { command, errno }
  } finally {
    otherSocket.close()
    for (const { table } of [...given, ...commands]) {
      if (await nftables.read(table)) await nftables.commit([{ do: 'deleteTable', table }])
    }
    nftables.close()
  }
}
