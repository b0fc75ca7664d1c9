import type { ApiServer } from '../../apiserver/api-server.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { CertificateSource } from '../certificates/serving-certificate.ts'
import { follow } from '../system/follow.ts'
import { writeKubeconfig } from './kubeconfig.ts'

export interface SecureAddress {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
}

export interface SecureFrontOptions {
  readonly server: Pick<ApiServer, 'listen' | 'advertise'>
  readonly address: SecureAddress
  readonly source: CertificateSource
  /** Where clients are told how to reach it. */
  readonly kubeconfig: string
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'error'>
}

/** What clients see of the server: its address and its certificate, kept true. */
export interface SecureFront {
  readonly url: string
  /**
   * Pods are told of this server no more, and its certificate is not renewed; the
   * server closes its socket itself.
   */
  close(): Promise<void>
}

/**
 * Listens, and tells clients how to reach it: people by a kubeconfig, Pods by a
 * Service. Does both again with every new certificate.
 */
export async function openSecureFront(options: SecureFrontOptions): Promise<SecureFront> {
  const { server, address, source, kubeconfig, clock, log } = options
  const first = await source.current()
  const listening = await server.listen({ ...address, tls: first })
  const tell = (authority: string | undefined): Promise<void> =>
    writeKubeconfig(kubeconfig, { server: listening.url, authority })
  await tell(first.authority)
  const advertisement = server.advertise({ address: address.host, port: listening.port })
  if (advertisement.unreachable !== undefined) {
    log.info({ reason: advertisement.unreachable }, 'no Service leads Pods to this server')
  }
  const unfollow = follow({
    ...{ clock, first },
    read: () => source.current(),
    onChange: async (next) => {
      listening.present(next)
      await tell(next.authority)
      log.info('the serving certificate was renewed')
    },
    onError: (err) => log.error({ err }, 'the serving certificate could not be renewed'),
  })
  const close = (): Promise<void> => {
    unfollow()
    return advertisement.stop()
  }
  return { url: listening.url, close }
}
