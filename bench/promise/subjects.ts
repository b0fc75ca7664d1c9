import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type Launched, type Proxy, startDaemon } from '../daemon/daemon.ts'
import { KUBE_PROXY_NAME, startKubeProxy } from '../daemon/kube-proxy.ts'
import { CLUSTER_CIDR } from '../lab/plan.ts'

/** A Service proxy that is compared with the others. */
export interface Subject {
  readonly name: 'nftables' | 'iptables' | 'peer'
  /** Milliseconds between two changes, so that none waits for the one before. */
  readonly pauseMs: number
  start(place: { readonly namespace: string; readonly url: string }): Started
}

export interface Started {
  readonly pid: number
  /** `performance.now()` when it was started. */
  readonly startedAt: number
  /** Waits until it says that it has written everything, if it can say so; false after the timeout. */
  isReady(timeoutMs: number): Promise<boolean>
  stop(): Promise<void>
}

export const PEER = `${KUBE_PROXY_NAME}, iptables legacy`
/** kube-proxy writes at most once in a second by default. */
const KUBE_PROXY_PAUSE_MS = 1_200

/**
 * node-proxy as the image runs it in two modes, and kube-proxy with the legacy variant of iptables, with which it is many
 * times faster: it writes all rules again for each change, which takes nft seconds at 1,000 Services.
 */
export function subjectsOf(image: Launched, folder: string): readonly Subject[] {
  const programs = legacyPrograms(folder)
  const nodeProxy = (name: Subject['name'], proxy: Proxy): Subject => ({
    name,
    pauseMs: 0,
    start(place) {
      const daemon = startDaemon({ ...place, ...image, proxy, folder })
      return {
        pid: daemon.pid,
        startedAt: daemon.startedAt,
        isReady: (timeoutMs) => daemon.untilReady(timeoutMs),
        stop: () => daemon.stop(),
      }
    },
  })
  const kubeProxy: Subject = {
    name: 'peer',
    pauseMs: KUBE_PROXY_PAUSE_MS,
    start(place) {
      const started = startKubeProxy({ ...place, clusterCidr: CLUSTER_CIDR, programs })
      // It writes everything in one transaction, so it has when one Service is served.
      return { ...started, isReady: () => Promise.resolve(true) }
    },
  }
  return [nodeProxy('nftables', 'nftables'), nodeProxy('iptables', 'nft'), kubeProxy]
}

/** A folder with the programs of iptables, all of them legacy. */
function legacyPrograms(folder: string): string {
  const programs = join(folder, 'iptables-legacy')
  mkdirSync(programs)
  for (const family of ['iptables', 'ip6tables']) {
    for (const suffix of ['', '-save', '-restore']) {
      symlinkSync('/usr/sbin/xtables-legacy-multi', join(programs, `${family}${suffix}`))
    }
  }
  return programs
}
