import { setTimeout as delay } from 'node:timers/promises'
import { formatMac } from '../../../src/kernel/neighbours/mac-address.ts'
import { ND } from '../../../src/kernel/neighbours/neighbour-discovery.ts'
import { type Family, familyOf, formatIp, type IpAddress } from '../../../src/lib/ip.ts'
import { type Frame, OtherHost } from '../../kernel/interfaces/other-host.ts'

/**
 * A host at `eth0` that requests the addresses of its arguments every few milliseconds, and prints a line for each answer,
 * in the order in which they arrived: the time in milliseconds since the epoch, the address, and the Ethernet address of
 * who answered. It ends with its standard input.
 */
const INTERVAL_MS = 4
const MAC = '02:00:00:00:00:33'
const FROM: Readonly<Record<Family, IpAddress>> = {
  4: '192.0.2.3' as IpAddress,
  6: '2001:db8::3' as IpAddress,
}
const addresses = process.argv.slice(2).map((text) => text as IpAddress)
const host = new OtherHost('eth0', MAC)

function answerIn({ arp, message }: Frame): readonly [string, string] | undefined {
  if (arp?.operation === 2 && formatMac(arp.targetMac) === MAC) {
    return [formatIp(arp.senderIp), formatMac(arp.senderMac)]
  }
  if (message?.type !== ND.advertisement || !message.solicited) return undefined
  if (message.linkAddress === undefined || formatIp(message.destination) !== FROM[6]) return
  return [formatIp(message.target), formatMac(message.linkAddress)]
}

let isEnded = false
process.stdin.on('end', () => {
  isEnded = true
})
process.stdin.resume()
while (!isEnded) {
  for (const ip of addresses) host.request(ip, FROM[familyOf(ip)])
  await delay(INTERVAL_MS)
  const lines = host.receive().flatMap((frame) => {
    const answer = answerIn(frame)
    return answer === undefined ? [] : `${performance.timeOrigin + frame.at} ${answer.join(' ')}\n`
  })
  if (lines.length > 0) process.stdout.write(lines.join(''))
}
host.close()
