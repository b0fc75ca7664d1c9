import { createInterface } from 'node:readline'
import { openWorkerResponder } from '../../../src/kernel/neighbours/worker-responder.ts'
import type { IpAddress } from '../../../src/lib/ip.ts'

/** A node that announces, at `eth0`, the addresses of each line that it reads, and prints what happens. */
const print = (event: unknown) => process.stdout.write(`${JSON.stringify(event)}\n`)
const responder = await openWorkerResponder('eth0', {
  onConflict: (conflict) => print({ conflict }),
  onLink: (link) => print({ link }),
  onLost: (error) => print({ lost: error.message }),
})
for await (const line of createInterface({ input: process.stdin })) {
  const addresses = line === '' ? [] : line.split(' ')
  await responder.announce(new Map(addresses.map((ip) => [ip as IpAddress, Infinity])))
  print({ announced: line })
}
await responder.close()
