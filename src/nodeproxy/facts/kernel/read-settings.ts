import type { Sysctl } from '../../../kernel/sysctl/sysctl.ts'

/** Kernel settings that decide about packets to Services. */
const SETTINGS = [
  'net.ipv4.ip_forward',
  'net.ipv6.conf.all.forwarding',
  'net.ipv4.conf.all.route_localnet',
  'net.ipv4.conf.all.rp_filter',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_local_reserved_ports',
  'net.bridge.bridge-nf-call-iptables',
  'net.bridge.bridge-nf-call-ip6tables',
  'net.netfilter.nf_conntrack_count',
  'net.netfilter.nf_conntrack_max',
] as const

/** By their names; those that the kernel does not have are left out. */
export function readSettings(sysctl: Pick<Sysctl, 'read'>): Readonly<Record<string, string>> {
  const found = SETTINGS.flatMap((name) => {
    const value = sysctl.read(name.replaceAll('.', '/'))
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(found)
}
