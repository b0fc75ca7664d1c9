import { hostname, networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { createAddressRange } from '../apiserver/allocation/address-range.ts'
import { type ApiServerOptions, createApiServer } from '../apiserver/api-server.ts'
import { apiServicesOf } from '../apiserver/background/api-services/api-services.ts'
import { createRunnerMetrics } from '../controllers/metrics/runner-metrics.ts'
import { systemClock } from '../lib/clock.ts'
import { type IpAddress, parseIp } from '../lib/ip.ts'
import type { NodeStreams } from '../streams/node-streams.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createComponentTokens } from './access/component-tokens.ts'
import { kubeconfigPath } from './access/kubeconfig-path.ts'
import { followNodeCredentials } from './access/node-credentials.ts'
import { openOwnSocket } from './access/own-socket.ts'
import { openSecureFront } from './access/secure-front.ts'
import { reachableAddress } from './access/server-addresses.ts'
import { openServerAudit } from './audit/open-server-audit.ts'
import { startBackgroundServices } from './background-services.ts'
import { adminCertificate } from './certificates/admin-certificate.ts'
import { certificateNames } from './certificates/certificate-names.ts'
import { givenCertificate } from './certificates/given-certificate.ts'
import { madeCertificate } from './certificates/made-certificate.ts'
import { measuredCertificate } from './certificates/measured-certificate.ts'
import type { CertificateSource } from './certificates/serving-certificate.ts'
import { warningOfValidity } from './certificates/validity-warning.ts'
import type { OrchServerConfiguration } from './config/configuration.ts'
import { rangeWarnings } from './config/range-warnings.ts'
import { openIdentity } from './identity/open-identity.ts'
import { createProcessMetrics } from './metrics/process-metrics.ts'
import { servePage } from './page/serve-page.ts'
import { openEncryptedStore } from './storage/open-encrypted-store.ts'
import { apiServerFailure, createFailureLog } from './system/failure-log.ts'
import { warnOfFewFiles } from './system/open-files.ts'
import { stopSignal } from './system/stop-signal.ts'
import { waitBriefly } from './system/wait-briefly.ts'

/** Serves until a signal arrives; every acknowledged write is in the store. */
export async function runServer(
  config: OrchServerConfiguration,
  log: Logger,
  version: string,
): Promise<void> {
  const clock = systemClock
  const stop = stopSignal()
  log.info({ version, dataDir: config.dataDir }, 'orch-server starts')
  warnOfFewFiles(config, log)
  for (const warning of rangeWarnings(config, ownAddresses())) log.warn(warning)
  await using held = new AsyncDisposableStack()
  const onError = createFailureLog({ clock, log }, () => ({
    level: 'warn',
    message: 'maintenance of etcd failed; orch-server repeats it',
  }))
  const opened = await openEncryptedStore(config, { clock, onError, log })
  const { store, election, broken, isNew } = opened
  if (isNew) log.info('the data directory held no store, so an empty one was made')
  held.defer(() => store.close())
  const own = createComponentTokens()
  const identity = await openIdentity(config, { clock, log, own: [own.authenticator] })
  held.defer(() => identity.stop())
  const [metrics, processMetrics] = [createRunnerMetrics(), createProcessMetrics()]
  const audit = await openServerAudit(config.audit, { clock, log, version, processMetrics })
  held.defer(() => audit.close())
  const nodeCredentials = await followNodeCredentials(config, { clock, log })
  held.defer(() => nodeCredentials.stop())
  const nodes = new Map<string, NodeStreams>()
  const texts = [() => metrics.text(), () => processMetrics.text()]
  const server = createApiServer({
    ...{ store, audit, identity: identity.options, ownAddresses },
    nodeStreams: (node) => nodes.get(node),
    nodeCredentials: nodeCredentials.current,
    moreMetrics: () => joined(texts),
    ...serverOptions(config, log),
  })
  held.defer(() => server.close())
  const kubeconfig = kubeconfigPath(config)
  const front = await openSecureFront({
    ...{ server, kubeconfig, log, clock, ...addressesOf(config) },
    clientAuthorities: identity.clientAuthorities,
    source: measuredCertificate(certificateSource(config, log), processMetrics),
    admin: adminCertificate({ folder: join(config.dataDir, 'pki'), clock }),
  })
  held.defer(() => waitBriefly(clock, front.close()))
  const socket = await openOwnSocket({
    ...{ server, dataDir: config.dataDir, tokens: own, clock },
  })
  const shared = { config, socket, version, election, metrics, processMetrics, nodes }
  const contents = { sign: identity.sign, ...(front.authority && { ca: front.authority }) }
  const background = held.use(
    await startBackgroundServices({ ...shared, clock, log, identity: contents }),
  )
  texts.push(() => background.metricsText())
  log.info({ url: front.url, kubeconfig }, 'orch-server is ready')
  const end = await Promise.race([stop, broken])
  server.drain()
  if (end instanceof Error) throw end
  log.info({ signal: end }, 'orch-server stops')
}

/** Metrics of several registries, as one text. */
async function joined(texts: readonly (() => Promise<string>)[]): Promise<string> {
  return (await Promise.all(texts.map((text) => text()))).join('')
}

function ownAddresses(): readonly IpAddress[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return all.flatMap(({ address }) => parseIp(address) ?? [])
}

/** Where the server listens, and where others reach it. */
function addressesOf(config: OrchServerConfiguration) {
  const address = { host: config.bindAddress, port: config.securePort }
  return { address, advertised: reachableAddress(config) }
}

function certificateSource(config: OrchServerConfiguration, log: Logger): CertificateSource {
  const { tls, dataDir, services } = config
  if (tls.certFile !== '') {
    const given = givenCertificate(tls.certFile, tls.keyFile)
    return warningOfValidity(given, { clock: systemClock, log })
  }
  const names = certificateNames({
    hostname: hostname(),
    address: reachableAddress(config),
    serviceAddresses: services.clusterIPRange.flatMap((cidr) =>
      apiServicesOf(createAddressRange(cidr)).map(({ ip }) => ip),
    ),
    extraNames: tls.extraNames,
  })
  return madeCertificate({ folder: join(dataDir, 'pki'), names, clock: systemClock })
}

function serverOptions(
  { services, limits, page }: OrchServerConfiguration,
  log: Logger,
): Omit<ApiServerOptions, 'store'> {
  const onError = createFailureLog({ clock: systemClock, log }, apiServerFailure)
  const stalledMs = limits.stalledClientTimeout
  return {
    ...(page.enabled && { files: servePage({ document: 'cluster.html', stalledMs, onError }) }),
    serviceAddressRanges: services.clusterIPRange,
    nodePortRange: services.nodePortRange,
    limits,
    onError,
    log,
  }
}
