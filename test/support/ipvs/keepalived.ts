import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Lab } from '../lab/lab.ts'
import { type LabProcess, startProcess } from '../lab/process.ts'

/** Another load balancer on the node: one virtual server by address, one by mark. */
export const KEEPALIVED = {
  address: '192.0.2.80',
  marked: '192.0.2.81',
  mark: 7,
  backends: ['10.180.2.200', '10.180.2.201'],
} as const

/** Its virtual servers as `ipvsadm -Sn` shows them. */
export const KEEPALIVED_SERVERS = [
  `-A -f ${KEEPALIVED.mark} -s rr`,
  ...KEEPALIVED.backends.map((ip) => `-a -f ${KEEPALIVED.mark} -r ${ip}:80 -m -w 1`),
  `-A -t ${KEEPALIVED.address}:80 -s wrr`,
  ...KEEPALIVED.backends.map((ip) => `-a -t ${KEEPALIVED.address}:80 -r ${ip}:80 -m -w 3`),
].toSorted()

const CONFIG = `global_defs {
  router_id lab
}
virtual_server ${KEEPALIVED.address} 80 {
  lvs_sched wrr
  lvs_method NAT
  protocol TCP
${KEEPALIVED.backends.map((ip) => realServer(ip, 3)).join('')}}
virtual_server fwmark ${KEEPALIVED.mark} {
  lvs_sched rr
  lvs_method NAT
${KEEPALIVED.backends.map((ip) => realServer(ip, 1)).join('')}}
`

function realServer(ip: string, weight: number): string {
  return `  real_server ${ip} 80 {
    weight ${weight}
  }
`
}

/** Starts keepalived with its addresses, its marks and real backends; `ended` resolves after SIGTERM. */
export async function startKeepalived(lab: Lab, markWith: string): Promise<LabProcess> {
  const { address, marked, mark, backends } = KEEPALIVED
  for (const ip of backends) {
    await lab.serve({ ip, local: false, ports: [{ protocol: 'TCP', port: 80 }] })
  }
  const { namespace } = lab.node
  await namespace.ip([`addr add ${address}/32 dev lo`, `addr add ${marked}/32 dev lo`])
  const rule = `-t mangle -A PREROUTING -d ${marked} -p tcp --dport 80 -j MARK --set-mark ${mark}`
  await namespace.exec([markWith, ...rule.split(' ')])
  const config = join(lab.folder, 'keepalived.conf')
  writeFileSync(config, CONFIG)
  const files = ['-p', join(lab.folder, 'keepalived.pid'), '-c', join(lab.folder, 'checkers.pid')]
  const process = startProcess(namespace, [
    'keepalived',
    '--dont-fork',
    '--log-console',
    '--no-syslog',
    '--check',
    '-f',
    config,
    ...files,
  ])
  await process.said('Gained quorum', { times: 2 })
  return process
}
