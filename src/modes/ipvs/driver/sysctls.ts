import { linuxVersion } from '../../netfilter/linux-version.ts'
import type { IpvsConfiguration } from './configuration.ts'

/**
 * A kernel setting of the ipvs mode, its path below /proc/sys; `net/ipv4/vs` exists once ip_vs is
 * loaded. Source: Documentation/networking/ipvs-sysctl.rst of Linux.
 */
export interface IpvsSysctl {
  readonly path: string
  readonly value: string
  readonly why: string
}

/** Without it no packet that IPVS forwards can be masqueraded. */
export const CONNTRACK: IpvsSysctl = {
  path: 'net/ipv4/vs/conntrack',
  value: '1',
  why: 'connections that IPVS forwards are masqueraded and matched like any other',
}

/** The other settings that the mode makes; it works without any of them. `release` as `uname -r` prints it. */
export function ipvsSysctls({ ipvs }: IpvsConfiguration, release: string): readonly IpvsSysctl[] {
  return [
    {
      path: 'net/ipv4/vs/expire_nodest_conn',
      value: '1',
      why: 'a connection whose backend is gone ends at once',
    },
    {
      path: 'net/ipv4/vs/expire_quiescent_template',
      value: '1',
      why: 'a client that sticks to a backend that leaves gets another one',
    },
    ...(delaysReusedPorts(release)
      ? [{ path: 'net/ipv4/vs/conn_reuse_mode', value: '0', why: reuseReason(release) }]
      : []),
    ...(ipvs.strictARP ? STRICT_ARP : []),
  ]
}

/** What is done about net/ipv4/vs/conn_reuse_mode on this kernel, and why; for the log. */
export function reuseReason(release: string): string {
  return delaysReusedPorts(release)
    ? `0: Linux ${release} delays a client that uses its port again by one second otherwise (4.1 to 5.8 do)`
    : `left as it is: Linux ${release} gives a client that uses its port again another backend without delay`
}

const ARP = 'only the interface that has an address answers for it (ipvs.strictARP)'
const STRICT_ARP: readonly IpvsSysctl[] = [
  { path: 'net/ipv4/conf/all/arp_ignore', value: '1', why: ARP },
  { path: 'net/ipv4/conf/all/arp_announce', value: '2', why: ARP },
]

/** Linux 4.1 brought the setting, 5.9 took the delay away; kube-proxy draws the same line. */
function delaysReusedPorts(release: string): boolean {
  const version = linuxVersion(release)
  return version >= 4_001 && version < 5_009
}
