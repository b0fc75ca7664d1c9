import { boolean, duration, integer, oneOf } from '../../../settings/scalar-types.ts'
import { IPTABLES_BACKENDS, MODE_NAMES } from '../../../nodeproxy/config/configuration.ts'
import type { FieldsOf, PathsUnder } from '../../../nodeproxy/config/field.ts'

/** The mode, and the settings of the iptables mode. */
export const iptablesFields: FieldsOf<'mode' | PathsUnder<'iptables'>> = {
  mode: {
    flag: 'proxy-mode',
    type: oneOf(MODE_NAMES),
    fallback: '',
    doc: 'How the kernel forwards. Empty: iptables. auto: ipvs where this kernel can do it, else iptables, else userspace; the log says why. nftables: as auto, with a warning, while there is no such mode. Changed while running, the new mode is programmed completely before the old one is removed; a mode that the kernel cannot do is refused.',
    reload: 'live',
    zeroIsUnset: true,
  },
  'iptables.masqueradeBit': {
    flag: 'iptables-masquerade-bit',
    type: integer(0, 31),
    fallback: 14,
    doc: 'The bit of the packet mark that asks for masquerade. Other software on the node must leave it and the bit below alone.',
    reload: 'live',
  },
  'iptables.masqueradeAll': {
    flag: 'masquerade-all',
    type: boolean,
    fallback: false,
    doc: 'Masquerade everything sent to a cluster IP, also from pods.',
    reload: 'live',
  },
  'iptables.localhostNodePorts': {
    flag: 'iptables-localhost-nodeports',
    type: boolean,
    fallback: false,
    doc: 'Serve node ports on 127.0.0.1 too. It needs route_localnet=1, which lets neighbours reach services that listen on loopback (CVE-2020-8558), so it is off here where kube-proxy has it on; when on, foreign packets for 127.0.0.0/8 are dropped. When it is turned off, or another mode takes over, the value found before is restored.',
    reload: 'live',
  },
  'iptables.syncPeriod': {
    flag: 'iptables-sync-period',
    type: duration(1),
    fallback: 30_000,
    doc: 'How long a failed change waits at most for its next try. The daemon is unhealthy when a change is older than twice this.',
    reload: 'live',
    zeroIsUnset: true,
  },
  'iptables.minSyncPeriod': {
    flag: 'iptables-min-sync-period',
    type: duration(),
    fallback: 0,
    doc: 'The shortest time between two changes of the kernel. The first change after a quiet time is made at once; after each one the daemon rests for half of what it took, so that 0 is safe.',
    reload: 'live',
    zeroIsUnset: true,
  },
  'iptables.backend': {
    flag: 'iptables-backend',
    type: oneOf(IPTABLES_BACKENDS),
    fallback: '',
    doc: 'Which iptables to use: nft or legacy. Empty: what the machine’s iptables command is.',
    reload: 'restart',
  },
}
