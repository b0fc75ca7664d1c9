import { hostname } from 'node:os'
import { join } from 'node:path'
import { type ApiServerOptions, createApiServer } from '../apiserver/api-server.ts'
import { createAddressRange } from '../apiserver/services/address-range.ts'
import { mastersOf } from '../apiserver/system/masters.ts'
import { createRunnerMetrics } from '../controllers/metrics/runner-metrics.ts'
import { systemClock } from '../lib/clock.ts'
import type { Logger } from '../telemetry/logger.ts'
import { certificateNames } from './certificates/certificate-names.ts'
import { givenCertificate } from './certificates/given-certificate.ts'
import { madeCertificate } from './certificates/made-certificate.ts'
import type { CertificateSource } from './certificates/serving-certificate.ts'
import { startCompanions } from './companions.ts'
import type { OrchServerConfiguration } from './config/configuration.ts'
import { serverLimits } from './config/server-limits.ts'
import { openOwnSocket } from './own-socket.ts'
import { openSecureFront } from './secure-front.ts'
import { stopSignal } from './stop-signal.ts'
import { openStore } from './storage/open-store.ts'

/** Serves until a signal ends it; what was acknowledged is in the store. */
export async function runServer(
  config: OrchServerConfiguration,
  log: Logger,
  version: string,
): Promise<void> {
  const clock = systemClock
  const stop = stopSignal()
  log.info({ version, dataDir: config.dataDir }, 'orch-server starts')
  await using held = new AsyncDisposableStack()
  const onError = (err: unknown): void => log.warn({ err }, 'the history in etcd was not shortened')
  const { store, election, broken } = await openStore(config, { clock, onError })
  held.defer(() => store.close())
  const metrics = createRunnerMetrics()
  const server = createApiServer({
    ...{ store, moreMetrics: () => metrics.text() },
    ...serverOptions(config, log),
  })
  held.defer(() => server.close())
  const kubeconfig = config.kubeconfig || join(config.dataDir, 'admin.kubeconfig')
  const front = await openSecureFront({
    ...{ server, kubeconfig, log, clock },
    address: { host: config.bindAddress, port: config.securePort },
    source: certificateSource(config),
  })
  held.defer(() => front.close())
  const socket = await openOwnSocket({ server, dataDir: config.dataDir, clock })
  held.use(await startCompanions({ config, socket, version, election, metrics, clock, log }))
  log.info({ url: front.url, kubeconfig }, 'orch-server is ready')
  const end = await Promise.race([stop, broken])
  server.drain()
  if (end instanceof Error) throw end
  log.info({ signal: end }, 'orch-server stops')
}

function certificateSource({
  tls,
  dataDir,
  bindAddress,
  services,
}: OrchServerConfiguration): CertificateSource {
  if (tls.certFile !== '') return givenCertificate(tls.certFile, tls.keyFile)
  const names = certificateNames({
    hostname: hostname(),
    bindAddress,
    serviceAddresses: services.clusterIPRange.flatMap((cidr) =>
      mastersOf(createAddressRange(cidr)).map(({ ip }) => ip),
    ),
    extraNames: tls.extraNames,
  })
  return madeCertificate({ folder: join(dataDir, 'pki'), names, clock: systemClock })
}

function serverOptions(
  { services, limits }: OrchServerConfiguration,
  log: Logger,
): Omit<ApiServerOptions, 'store'> {
  const { from: first, to: last } = services.nodePortRange
  return {
    serviceAddressRanges: services.clusterIPRange,
    nodePortRange: { first, last },
    limits: serverLimits(limits),
    onError: (err) =>
      log.error({ err }, 'the API server failed at something that it should not fail at'),
  }
}
