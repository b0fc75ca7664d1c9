import { setTimeout as delay } from 'node:timers/promises'
import { formatMac } from '../../../src/kernel/neighbours/mac-address.ts'
import { type Family, formatIp, type IpAddress } from '../../../src/lib/ip.ts'
import { type Frame, OtherHost } from './other-host.ts'

/**
 * A host at `eth0` that requests both addresses again and again, and prints every answer: the number of the request, the
 * address, and the Ethernet address of who answered. On standard error it reports each host with its first answer. It
 * ends with its standard input.
 */
const INTERVAL_MS = 10
const [address4, address6] = process.argv.slice(2)
const from: Readonly<Record<Family, IpAddress>> = {
  4: '192.0.2.3' as IpAddress,
  6: '2001:db8::3' as IpAddress,
}
const host = new OtherHost('eth0', '02:00:00:00:00:33')

function answerIn({ arp, message }: Frame): readonly [string, string] | undefined {
  if (arp?.operation === 2 && formatMac(arp.targetMac) === formatMac(host.mac)) {
    return [formatIp(arp.senderIp), formatMac(arp.senderMac)]
  }
  if (message?.type !== 136 || !message.solicited || message.linkAddress === undefined) return
  if (formatIp(message.destination) !== from[6]) return
  return [formatIp(message.target), formatMac(message.linkAddress)]
}

const answers: (readonly [request: number, ip: string, mac: string])[] = []
const reported = new Set<string>()
let isEnded = false
process.stdin.on('end', () => {
  isEnded = true
})
process.stdin.resume()
let request = 0
for (; !isEnded; request += 1) {
  host.request(address4 as IpAddress, from[4])
  host.request(address6 as IpAddress, from[6])
  await delay(INTERVAL_MS)
  for (const frame of host.receive()) {
    const answer = answerIn(frame)
    if (answer === undefined) continue
    answers.push([request, answer[0], answer[1]])
    const first = answer.join(' ')
    if (!reported.has(first)) process.stderr.write(`${first}\n`)
    reported.add(first)
  }
}
process.stdout.write(`${JSON.stringify({ requests: request, answers })}\n`)
