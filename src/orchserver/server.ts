import { X509Certificate } from 'node:crypto'
import { hostname, networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { createAddressRange } from '../apiserver/allocation/address-range.ts'
import { type ApiServerOptions, createApiServer } from '../apiserver/api-server.ts'
import { apiServicesOf } from '../apiserver/background/api-services.ts'
import { NODE_CLIENT } from '../auth/user.ts'
import { createRunnerMetrics } from '../controllers/runner/observer.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import { familyOf, type IpAddress, parseIp } from '../lib/ip.ts'
import { firstSignal, openFilesLimit, releaseMemoryOf } from '../lib/process.ts'
import type { NodeStreams } from '../streams/node-streams.ts'
import { notifyServiceManager } from '../telemetry/health/sd-notify.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createComponentTokens } from './access/component-tokens.ts'
import { kubeconfigPath } from './access/kubeconfig.ts'
import { openOwnSocket } from './access/own-socket.ts'
import { openSecureFront } from './access/secure-front.ts'
import { startBackgroundServices } from './background-services.ts'
import { type CertificateNames, certificateNames } from './certificates/certificate-names.ts'
import {
  adminCertificate,
  type ClientCertificateOptions,
  type ClientCertificateSource,
  clientCertificate,
} from './certificates/client-certificate.ts'
import type { KeptCertificate } from './certificates/kept-certificate.ts'
import {
  type CertificateSource,
  givenCertificate,
  madeCertificate,
} from './certificates/serving-certificate.ts'
import type { OrchServerConfiguration } from './config/configuration.ts'
import { rangeWarnings } from './config/range-warnings.ts'
import { type EncryptionParts, openEncryption } from './encryption/open-encryption.ts'
import { type Followed, followFiles } from './identity/followed-files.ts'
import { followKubeletCredentials } from './identity/kubelet-credentials.ts'
import { openIdentity } from './identity/open-identity.ts'
import { openServerAudit } from './open-audit.ts'
import { servePage } from './serve-page.ts'
import { type OpenedStore, openStore, type StoreParts } from './storage/open-store.ts'
import { apiServerFailure, createFailureLog } from './system/failure-log.ts'
import { firstMachineAddress, type Interfaces } from './system/machine-addresses.ts'
import { createProcessMetrics, type ProcessMetrics } from './system/process-metrics.ts'
import { waitBriefly } from './system/wait-briefly.ts'

/** The shortest time between two warnings of one certificate that is not valid. */
const WARNING_PERIOD_MS = 600_000

/** File descriptors for the store or the connections to etcd, certificates, and connections of the controllers. */
const OWN_FILES = 100
/** File descriptors for the sandbox node, which has at most 110 Pods; each has pipes and a file for its output. */
const POD_FILES = 110 * 8

/** The unspecified addresses: a server on one of them is reachable at every address of the machine. */
const UNSPECIFIED: readonly string[] = ['0.0.0.0', '::']

/** Serves until a signal arrives; every acknowledged write is in the store. */
export async function runServer(
  config: OrchServerConfiguration,
  log: Logger,
  version: string,
): Promise<void> {
  const [clock, stop] = [systemClock, stopSignal()]
  log.info({ version, dataDir: config.dataDir }, 'orch-server starts')
  warnOfFewFiles(config, log)
  for (const warning of rangeWarnings(config, ownAddresses())) log.warn(warning)
  await using held = new AsyncDisposableStack()
  const { store, election, broken } = await openServerStore(config, log)
  held.defer(() => store.close())
  const own = createComponentTokens()
  const identity = await openIdentity(config, { clock, log, own: [own.authenticator] })
  held.defer(() => identity.stop())
  const [metrics, processMetrics] = [createRunnerMetrics(), createProcessMetrics()]
  const audit = await openServerAudit(config.audit, { clock, log, version, processMetrics })
  held.defer(() => audit.close())
  const nodeAccess = await openNodeAccess(config, { clock, log, held })
  const nodes = new Map<string, NodeStreams>()
  const texts = [() => metrics.text(), () => processMetrics.text()]
  const start: Start = { fault: 'orch-server is starting' }
  const server = createApiServer({
    store,
    audit,
    identity: identity.options,
    ownAddresses,
    nodeStreams: (node) => nodes.get(node),
    ...nodeAccess,
    moreMetrics: () => joined(texts),
    startFault: () => start.fault,
    ...serverOptions(config, log),
  })
  held.defer(() => server.close())
  const kubeconfig = kubeconfigPath(config)
  const front = await openSecureFront({
    server,
    kubeconfig,
    log,
    clock,
    ...addressesOf(config),
    clientAuthorities: identity.clientAuthorities,
    source: measuredCertificate(certificateSource(config, log), processMetrics),
    admin: adminCertificate({ folder: join(config.dataDir, 'pki'), clock }),
  })
  held.defer(() => waitBriefly(clock, front.close()))
  const socket = await openOwnSocket({ server, dataDir: config.dataDir, tokens: own, clock })
  const parts = { config, socket, version, election, metrics, processMetrics, nodes }
  const shared = { ...parts, reservedNames: ownNames(config) }
  const contents = { sign: identity.sign, ...(front.authority && { ca: front.authority }) }
  const background = held.use(
    await startBackgroundServices({ ...shared, clock, log, identity: contents }),
  )
  texts.push(() => background.metricsText())
  reportReady(start, { url: front.url, kubeconfig }, log)
  held.defer(releaseMemoryOf({ isOver: () => true }, clock))
  const end = await Promise.race([stop, broken])
  server.drain()
  reportStop(end, log)
}

interface NodeAccessParts {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'error'>
  /** What is followed ends with this. */
  readonly held: AsyncDisposableStack
}

/** How the server reaches the node-proxies and kubelets of its nodes. */
async function openNodeAccess(
  config: OrchServerConfiguration,
  { held, ...parts }: NodeAccessParts,
): Promise<Required<Pick<ApiServerOptions, 'nodeCredentials' | 'kubelets'>>> {
  const proxies = await followNodeCredentials(config, parts)
  held.defer(() => proxies.stop())
  const kubelets = await followKubeletCredentials(config, parts)
  held.defer(() => kubelets.stop())
  const addressTypes = config.kubelet.preferredAddressTypes
  return {
    nodeCredentials: proxies.current,
    kubelets: { credentials: kubelets.current, addressTypes },
  }
}

/** Why the server is not ready yet; undefined: it is. */
interface Start {
  fault: string | undefined
}

function reportReady(
  start: Start,
  where: { readonly url: string; readonly kubeconfig: string },
  log: Logger,
): void {
  start.fault = undefined
  log.info(where, 'orch-server is ready')
  notifyServiceManager(['READY=1', `STATUS=serves ${where.url}`], { log })
}

/** Throws the error that ended the store. */
function reportStop(end: NodeJS.Signals | Error, log: Logger): void {
  notifyServiceManager(['STOPPING=1'], { log })
  if (end instanceof Error) throw end
  log.info({ signal: end }, 'orch-server stops')
}

async function openServerStore(config: OrchServerConfiguration, log: Logger) {
  const onError = createFailureLog({ clock: systemClock, log }, () => ({
    level: 'warn',
    message: 'maintenance of etcd failed; orch-server repeats it',
  }))
  const opened = await openEncryptedStore(config, { clock: systemClock, onError, log })
  if (opened.isNew) log.info('the data directory had no store, so an empty one was created')
  return opened
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
  const { tls, dataDir } = config
  if (tls.certFile !== '') {
    const given = givenCertificate(tls.certFile, tls.keyFile)
    return warningOfValidity(given, { clock: systemClock, log })
  }
  const names = ownNames(config)
  return madeCertificate({ folder: join(dataDir, 'pki'), names, clock: systemClock })
}

/** The names and addresses by which clients know this server. */
function ownNames(config: OrchServerConfiguration): CertificateNames {
  const { tls, services } = config
  return certificateNames({
    hostname: hostname(),
    address: reachableAddress(config),
    serviceAddresses: services.clusterIPRange.flatMap((cidr) =>
      apiServicesOf(createAddressRange(cidr)).map(({ ip }) => ip),
    ),
    extraNames: tls.extraNames,
  })
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

/**
 * Resolves with the first signal to stop, even if it arrives while the server starts. SIGHUP counts: it is sent
 * when a terminal closes. A second signal ends the process at once.
 */
export function stopSignal(): Promise<NodeJS.Signals> {
  return firstSignal(['SIGTERM', 'SIGINT', 'SIGHUP'])
}

/** Sets the metric of the certificate's expiry at each call of `current`. */
export function measuredCertificate(
  source: CertificateSource,
  { certificateEnd }: Pick<ProcessMetrics, 'certificateEnd'>,
): CertificateSource {
  return {
    async current() {
      const given = await source.current()
      certificateEnd.set(new X509Certificate(given.cert).validToDate.getTime() / 1000)
      return given
    },
  }
}

/**
 * The store of the configuration, with its Secrets encrypted.
 * @throws the errors of `openStore` and of `openEncryption`; the store is closed then
 */
export async function openEncryptedStore(
  config: OrchServerConfiguration,
  parts: StoreParts & EncryptionParts,
): Promise<OpenedStore> {
  const opened = await openStore(config, parts)
  try {
    return { ...opened, store: await openEncryption(opened.store, config, parts) }
  } catch (error) {
    await opened.store.close()
    throw error
  }
}

/**
 * The address at which clients on other machines, and Pods, reach a server: that of the configuration, else the one it
 * serves on. If it serves on all addresses: the first that is not on the loopback, else the loopback.
 */
export function reachableAddress(
  {
    bindAddress,
    advertiseAddress,
  }: Pick<OrchServerConfiguration, 'bindAddress' | 'advertiseAddress'>,
  interfaces: Interfaces = networkInterfaces(),
): IpAddress {
  if (advertiseAddress !== '') return advertiseAddress
  if (!UNSPECIFIED.includes(bindAddress)) return bindAddress
  const loopback = (familyOf(bindAddress) === 4 ? '127.0.0.1' : '::1') as IpAddress
  return firstMachineAddress(interfaces, familyOf(bindAddress)) ?? loopback
}

/**
 * The credentials by which the server and nodes verify each other: its client certificate, which is created and
 * renewed in the data directory, and the authority there.
 * @throws NP_ORCHSERVER_CERTIFICATE, NP_ORCHSERVER_FILE
 */
export function followNodeCredentials(
  { dataDir }: Pick<OrchServerConfiguration, 'dataDir'>,
  { clock, log }: { readonly clock: Clock; readonly log: Pick<Logger, 'info' | 'error'> },
): Promise<Followed<KeptCertificate>> {
  const source = nodeClientCertificate({ folder: join(dataDir, 'pki'), clock })
  return followFiles({
    read: () => source.current(),
    parse: (kept) => kept,
    what: 'the client certificate for nodes',
    clock,
    log,
  })
}

/** The certificate by which nodes authenticate this server, stored beside the authority and renewed in time. */
function nodeClientCertificate(
  options: ClientCertificateOptions,
): ClientCertificateSource<KeptCertificate> {
  return clientCertificate({ file: 'node-client', user: NODE_CLIENT, groups: [] }, options)
}

/**
 * Warns when the limit of open files is lower than the settings may require. Every watch and every request may
 * need its own connection, and to a client a connection that is refused at the limit looks like a server that
 * is down.
 */
export function warnOfFewFiles(
  config: Pick<OrchServerConfiguration, 'limits' | 'sandboxNode'>,
  log: Pick<Logger, 'warn'>,
  limit: number = openFilesLimit(Infinity),
): void {
  const { watches, requestsInFlight, mutatingRequestsInFlight } = config.limits
  const requests = requestsInFlight + mutatingRequestsInFlight
  const own = OWN_FILES + (config.sandboxNode.enabled ? POD_FILES : 0)
  const needed = watches + requests + own
  if (limit >= needed) return
  log.warn(
    { limit, needed, watches, requests, own },
    'the limit of open files is small: raise it (LimitNOFILE= of the unit, ulimit -n), or lower --max-watches',
  )
}

interface ValidityWarningOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly log: Pick<Logger, 'warn'>
}

/**
 * Warns when `current` returns a certificate that has expired or is not valid yet, and repeats the warning
 * every ten minutes while it does.
 */
export function warningOfValidity(
  source: CertificateSource,
  { clock, log }: ValidityWarningOptions,
): CertificateSource {
  let warned = { cert: '', at: 0 }
  return {
    async current() {
      const given = await source.current()
      const { validFromDate, validToDate } = new X509Certificate(given.cert)
      const now = clock.now()
      const isValid = now >= validFromDate.getTime() && now <= validToDate.getTime()
      const isSaid = warned.cert === given.cert && Math.abs(now - warned.at) < WARNING_PERIOD_MS
      if (!isValid && !isSaid) {
        warned = { cert: given.cert, at: now }
        const [validFrom, validTo] = [validFromDate.toISOString(), validToDate.toISOString()]
        log.warn(
          { validFrom, validTo },
          'the serving certificate is not valid now, so clients refuse it: renew its files, or correct the clock',
        )
      }
      return given
    },
  }
}
