import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import type { IpvsCommand } from '../../../src/kernel/ipvs/ipvs.ts'
import { NetlinkIpvs } from '../../../src/kernel/ipvs/netlink-ipvs.ts'
import { requestTransport } from '../../../src/kernel/netlink/request-transport.ts'
import { NETLINK_GENERIC } from '../../../src/kernel/netlink/transport.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { ENDPOINTS_PER_SERVICE, firstEndpoints } from '../../cluster/objects.ts'
import { replacementAddress } from '../../lab/plan.ts'
import { counter } from '../../measure/counter.ts'
import { addCommands, replaceCommands } from '../objects.ts'
import type { SenderOrder, SenderReport } from './order.ts'

/**
 * The minimal sender: a program that only sends messages of ip_vs over netlink, without Services, watches or modes. Its
 * time is the lower bound for every program that sends through the same socket.
 */
const BATCH = 500
const ipvs = new NetlinkIpvs(requestTransport(NETLINK_GENERIC), systemClock)
/** The number of its first virtual server; the kernel also has virtual servers of others. */
const first = Number(process.argv[2])
/** Real servers by virtual server. */
const held: (readonly number[])[] = []
const serial = counter()
const turn = counter()

for await (const line of createInterface({ input: process.stdin })) {
  const report = await follow(JSON.parse(line) as SenderOrder)
  process.stdout.write(`${JSON.stringify(report)}\n`)
}
ipvs.close()

async function follow({ what, count, size, restMs }: SenderOrder): Promise<SenderReport> {
  const ms: number[] = []
  let messages = 0
  for (let n = 0; n < count; n++) {
    await delay(restMs)
    const startedAt = performance.now()
    messages = what === 'fill' ? await fill(size) : await send(commandsFor(what, size))
    ms.push(performance.now() - startedAt)
  }
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage()
  return { ms, messages, cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakKib: maxRSS }
}

/** Makes only as many messages as are sent at a time, because memory costs time, too. */
async function fill(size: number): Promise<number> {
  let batch: IpvsCommand[] = []
  let messages = 0
  for (let n = 0; n < size; n++) {
    for (const command of addOne()) {
      if (batch.push(command) < BATCH) continue
      messages += await send(batch)
      batch = []
    }
  }
  return messages + (await send(batch))
}

function commandsFor(what: Exclude<SenderOrder['what'], 'fill'>, size: number) {
  switch (what) {
    case 'add':
      return addOne()
    case 'replace':
      return replaceSome((turn() * 7_919) % held.length, 1)
    case 'burst':
      return Array.from({ length: size }, (_, n) => replaceSome(n, ENDPOINTS_PER_SERVICE)).flat()
  }
}

/** Sends commands, and waits until all are acknowledged. @returns the number of commands */
async function send(commands: readonly IpvsCommand[]): Promise<number> {
  const [refusal] = await ipvs.run(commands)
  if (refusal !== undefined) throw new Error(`refused: ${refusal.message}`)
  return commands.length
}

function addOne(): readonly IpvsCommand[] {
  const service = held.length
  const endpoints = firstEndpoints(first + service)
  held.push(endpoints)
  return addCommands(first + service, endpoints)
}

/** The commands that replace the first real servers of a virtual server. */
function replaceSome(service: number, count: number): readonly IpvsCommand[] {
  const endpoints = held[service] ?? []
  const fresh = Array.from({ length: count }, () => replacementAddress(serial()))
  held[service] = [...endpoints.slice(count), ...fresh]
  return replaceCommands(first + service, { fresh, gone: endpoints.slice(0, count) })
}
