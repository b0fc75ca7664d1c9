import type { DeprecatedFlag } from '../../settings/table.ts'
import { accept, refuse } from '../../settings/value-type.ts'
import type { NodeProxyConfiguration } from './fields/configuration.ts'

/**
 * A flag with the port for the address at `path`. The IP address is `v4`, or `v6` where `bindAddress` is IPv6. Port 0
 * sets no address, so that nothing is served.
 */
function portFlag(
  path: 'healthzBindAddress' | 'metricsBindAddress',
  v4: string,
  v6: string,
): DeprecatedFlag<NodeProxyConfiguration> {
  return {
    path,
    value: 'port',
    translate(port, settings) {
      if (port === '0') return accept('')
      if (!/^[1-9][0-9]{0,4}$/.test(port))
        return refuse('write a port from 1 to 65535, or 0 for none')
      const bindAddress = settings.get('bindAddress')?.value
      const isV6 = typeof bindAddress === 'string' && bindAddress.includes(':')
      return accept(`${isV6 ? v6 : v4}:${port}`)
    },
  }
}

/** The deprecated flags of kube-proxy for ports. */
export const PORT_FLAGS: ReadonlyMap<string, DeprecatedFlag<NodeProxyConfiguration>> = new Map([
  ['healthz-port', portFlag('healthzBindAddress', '0.0.0.0', '[::]')],
  ['metrics-port', portFlag('metricsBindAddress', '127.0.0.1', '[::1]')],
])

const WINDOWS = 'it concerns Windows nodes'
const LOGGING = 'logs are JSON lines, readable text on a terminal'
const JSON_ONLY = 'the daemon speaks JSON with the API server'

/** Fields of a KubeProxyConfiguration that have no effect here, with the reason. Fields below them are ignored, too. */
export const IGNORED_FIELDS: ReadonlyMap<string, string> = new Map([
  ['featureGates', 'node-proxy has no feature gates'],
  ['clientConnection.acceptContentTypes', JSON_ONLY],
  ['clientConnection.contentType', JSON_ONLY],
  ['logging.format', LOGGING],
  ['logging.flushFrequency', LOGGING],
  ['logging.vmodule', LOGGING],
  ['logging.options', LOGGING],
  ['enableProfiling', 'there are no /debug/pprof pages'],
  ['showHiddenMetricsForVersion', 'no metric is hidden'],
  ['configSyncPeriod', 'there is no informer cache to resync'],
  ['nftables.masqueradeBit', 'iptables.masqueradeBit holds for all modes'],
  ['winkernel.networkName', WINDOWS],
  ['winkernel.sourceVip', WINDOWS],
  ['winkernel.enableDSR', WINDOWS],
  ['winkernel.rootHnsEndpointName', WINDOWS],
  ['winkernel.forwardHealthCheckVip', WINDOWS],
  ['windowsRunAsService', WINDOWS],
])

/** Flags of kube-proxy that deployments contain and that have no effect here, with the reason. */
export const IGNORED_FLAGS: ReadonlyMap<string, string> = new Map([
  ...[
    'logtostderr',
    'alsologtostderr',
    'stderrthreshold',
    'log-dir',
    'log-file',
    'log-file-max-size',
    'log-backtrace-at',
    'log-flush-frequency',
    'log-json-info-buffer-size',
    'log-json-split-stream',
    'log-text-info-buffer-size',
    'log-text-split-stream',
    'logging-format',
    'one-output',
    'skip-headers',
    'skip-log-headers',
    'add-dir-header',
    'vmodule',
  ].map((flag) => [flag, LOGGING] as const),
  ['feature-gates', 'node-proxy has no feature gates'],
  ['kube-api-content-type', JSON_ONLY],
  ['profiling', 'there are no /debug/pprof pages'],
  ['show-hidden-metrics-for-version', 'no metric is hidden'],
  ['config-sync-period', 'there is no informer cache to resync'],
  ['cleanup-ipvs', '--cleanup always removes what every mode has left'],
  ['windows-run-as-service', WINDOWS],
])
