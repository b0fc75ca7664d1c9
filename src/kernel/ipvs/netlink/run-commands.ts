import { inGroups } from '../../../lib/groups.ts'
import { encodeCommand } from '../codec/commands.ts'
import { describeCommandError } from '../describe-error.ts'
import type { IpvsCommand, IpvsCommandError } from '../ipvs.ts'
import { hasTakenEffect } from '../repeated-batch.ts'
import type { IpvsSocket } from './ipvs-socket.ts'

/** Commands in one datagram. */
const BATCH = 500

/** Runs commands in batches; the refusals, by index. */
export async function runCommands(
  socket: IpvsSocket,
  commands: readonly IpvsCommand[],
): Promise<readonly IpvsCommandError[]> {
  const refusals: IpvsCommandError[] = []
  let start = 0
  for (const batch of inGroups(commands, BATCH)) {
    refusals.push(...(await runBatch(socket, batch, start)))
    start += batch.length
  }
  return refusals.sort((a, b) => a.index - b.index)
}

async function runBatch(
  socket: IpvsSocket,
  batch: readonly IpvsCommand[],
  start: number,
): Promise<readonly IpvsCommandError[]> {
  const { refusals, repeated } = await socket.transact(batch.map(encodeCommand))
  const described: IpvsCommandError[] = []
  for (const [at, refusal] of refusals) {
    if (repeated && (await hasTakenEffect(socket, batch, at))) continue
    described.push(describeCommandError(start + at, batch[at]!, refusal))
  }
  return described
}
