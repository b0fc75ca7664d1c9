import { MASQUERADE_PORTS } from '../../../modes/netfilter/settings/configuration.ts'
import { boolean, integer, oneOf } from '../../../settings/scalar-types.ts'
import { IPTABLES_VARIANTS } from './configuration.ts'
import type { FieldsOf } from './field.ts'

/** Settings of the rules that every mode writes; Kubernetes names them under `iptables`. */
export const netfilterFields: FieldsOf<
  | 'iptables.masqueradeBit'
  | 'iptables.masqueradeAll'
  | 'iptables.masqueradePorts'
  | 'iptables.localhostNodePorts'
  | 'iptables.backend'
> = {
  'iptables.masqueradeBit': {
    flag: 'iptables-masquerade-bit',
    type: integer(0, 31),
    fallback: 14,
    doc: 'The bit of the packet mark that requests masquerade. Other software on the node must leave it and the bit below alone.',
    reload: 'live',
  },
  'iptables.masqueradeAll': {
    flag: 'masquerade-all',
    type: boolean,
    fallback: false,
    doc: 'Masquerade everything sent to a cluster IP, also from pods.',
    reload: 'live',
  },
  'iptables.masqueradePorts': {
    flag: 'masquerade-ports',
    type: oneOf(MASQUERADE_PORTS),
    fallback: 'auto',
    doc: 'The source port of a masqueraded connection: keep its client’s where that is free, or choose one at random (--random-fully). auto: keep; random on kernels before Linux 5.0, which lose first packets where clients’ ports are equal. Measured in masquerade.md. The userspace mode masquerades nothing.',
    reload: 'live',
  },
  'iptables.localhostNodePorts': {
    flag: 'iptables-localhost-nodeports',
    type: boolean,
    fallback: false,
    doc: 'Serve node ports on 127.0.0.1 too. It needs route_localnet=1, which lets neighbours reach services that listen on loopback (CVE-2020-8558), so it is off here where kube-proxy has it on; when on, foreign packets for 127.0.0.0/8 are dropped. When it is turned off, or another mode takes over, the value found before is restored.',
    reload: 'live',
  },
  'iptables.backend': {
    flag: 'iptables-backend',
    type: oneOf(IPTABLES_VARIANTS),
    fallback: '',
    doc: 'Which iptables to use: nft or legacy. Empty: what the machine’s iptables command is.',
    reload: 'restart',
  },
}
