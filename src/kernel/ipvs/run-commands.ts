import type { Clock } from '../../lib/clock.ts'
import { encodeCommand } from './codec/command.ts'
import { type IpvsCommand, type IpvsRefusal, virtualServerKey } from './ipvs.ts'
import type { IpvsSocket } from './ipvs-socket.ts'
import { describeRefusal } from './refusal.ts'
import { hasTakenEffect } from './repeated-batch.ts'

/** Commands in one datagram. */
const BATCH = 500
/** Usual are 10 to 30 µs; more means that the kernel searches, see `inOrderOfDeletion`. */
const SLOW_MS_PER_COMMAND = 0.1

/** A command and its place in what was asked for. */
type Numbered = readonly [index: number, command: IpvsCommand]

/** Runs commands in batches; the refusals, by index. */
export async function runCommands(
  socket: IpvsSocket,
  clock: Clock,
  commands: readonly IpvsCommand[],
): Promise<readonly IpvsRefusal[]> {
  const queue = commands.map((command, index): Numbered => [index, command])
  const refusals: IpvsRefusal[] = []
  for (let at = 0; at < queue.length; ) {
    const batch = queue.slice(at, at + BATCH)
    const start = clock.now()
    refusals.push(...(await runBatch(socket, batch)))
    const isSlow = (clock.now() - start) / batch.length > SLOW_MS_PER_COMMAND
    at += batch.length
    const additions = isSlow ? additionsFrom(queue, at) : []
    if (additions.length <= BATCH) continue
    refusals.push(...(await runAdditions(socket, additions)))
    at += additions.length
  }
  return refusals.sort((a, b) => a.index - b.index)
}

function additionsFrom(queue: readonly Numbered[], start: number): readonly Numbered[] {
  const isOther = ([, command]: Numbered) => !command.do.startsWith('add')
  const end = queue.findIndex((item, at) => at >= start && isOther(item))
  return queue.slice(start, end < 0 ? queue.length : end)
}

/** Virtual servers first, then real servers in the order that the kernel finds fastest. */
async function runAdditions(
  socket: IpvsSocket,
  additions: readonly Numbered[],
): Promise<readonly IpvsRefusal[]> {
  const [services, servers]: [Numbered[], Numbered[]] = [[], []]
  for (const item of additions) (item[1].do === 'addService' ? services : servers).push(item)
  const refusals = await runAll(socket, services)
  return [...refusals, ...(await runAll(socket, await inOrderOfDeletion(socket, servers)))]
}

/**
 * Real servers of which thousands were deleted lately, by a flush, say, are on a
 * list of the kernel for two minutes, newest first, and each addition searches
 * it from its start. A flush deletes in the order in which virtual servers are
 * listed: so the last of the list come first, and every search ends at once.
 * Otherwise adding 100,000 real servers after a flush takes minutes, not a second.
 */
async function inOrderOfDeletion(
  socket: IpvsSocket,
  servers: readonly Numbered[],
): Promise<readonly Numbered[]> {
  const places = new Map<string, number>()
  for (const { id } of await socket.services()) places.set(virtualServerKey(id), places.size)
  return servers
    .map((item) => ({ item, place: places.get(virtualServerKey(item[1].id)) ?? -1 }))
    .sort((a, b) => b.place - a.place)
    .map(({ item }) => item)
}

async function runAll(
  socket: IpvsSocket,
  items: readonly Numbered[],
): Promise<readonly IpvsRefusal[]> {
  const refusals: IpvsRefusal[] = []
  for (let at = 0; at < items.length; at += BATCH) {
    refusals.push(...(await runBatch(socket, items.slice(at, at + BATCH))))
  }
  return refusals
}

async function runBatch(
  socket: IpvsSocket,
  batch: readonly Numbered[],
): Promise<readonly IpvsRefusal[]> {
  const commands = batch.map(([, command]) => command)
  const { refusals, repeated } = await socket.transact(commands.map(encodeCommand))
  const described: IpvsRefusal[] = []
  for (const [at, refusal] of refusals) {
    if (repeated && (await hasTakenEffect(socket, commands, at))) continue
    const [index, command] = batch[at]!
    described.push(describeRefusal(index, command, refusal))
  }
  return described
}
