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
