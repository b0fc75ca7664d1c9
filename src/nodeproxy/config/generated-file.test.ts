import { expect, it } from 'vitest'
import { parseFlags } from './flags.ts'
import { loadConfiguration } from './load.ts'

/** Every field of KubeProxyConfiguration as cluster tools write it: mostly zero values. */
const GENERATED = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 0.0.0.0
bindAddressHardFail: false
clientConnection:
  acceptContentTypes: ""
  burst: 0
  contentType: ""
  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf
  qps: 0
clusterCIDR: 10.244.0.0/16,fd00:10:244::/56
configSyncPeriod: 0s
conntrack:
  maxPerCore: null
  min: null
  tcpBeLiberal: false
  tcpCloseWaitTimeout: null
  tcpEstablishedTimeout: null
  udpStreamTimeout: 0s
  udpTimeout: 0s
detectLocal:
  bridgeInterface: ""
  interfaceNamePrefix: ""
detectLocalMode: ""
enableProfiling: false
healthzBindAddress: ""
hostnameOverride: ""
iptables:
  localhostNodePorts: null
  masqueradeAll: false
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
ipvs:
  excludeCIDRs: null
  minSyncPeriod: 0s
  scheduler: ""
  strictARP: false
  syncPeriod: 0s
  tcpFinTimeout: 0s
  tcpTimeout: 0s
  udpTimeout: 0s
kind: KubeProxyConfiguration
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: 0
metricsBindAddress: ""
mode: ""
nftables:
  masqueradeAll: false
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
nodePortAddresses: null
oomScoreAdj: null
portRange: ""
showHiddenMetricsForVersion: ""
winkernel:
  enableDSR: false
  forwardHealthCheckVip: false
  networkName: ""
  rootHnsEndpointName: ""
  sourceVip: ""
`

it('a generated KubeProxyConfiguration sets only its values that are not zero, without a warning', async () => {
  const flags = parseFlags(['--hostname-override=node-1'])
  const defaults = flags.ok && (await loadConfiguration(undefined, flags.line))
  const result =
    flags.ok && (await loadConfiguration({ name: 'c.yaml', text: GENERATED }, flags.line))
  if (!result || !result.ok || !defaults || !defaults.ok) throw new Error('refused')
  expect(result.warnings).toEqual([])
  expect(result.config).toEqual({
    ...defaults.config,
    clientConnection: {
      ...defaults.config.clientConnection,
      kubeconfig: '/var/lib/kube-proxy/kubeconfig.conf',
    },
    clusterCIDR: ['10.244.0.0/16', 'fd00:10:244::/56'],
  })
})
