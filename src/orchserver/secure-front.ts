import type { ApiServer } from '../apiserver/api-server.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../telemetry/logger.ts'
import { followCertificate } from './certificates/follow-certificate.ts'
import type { CertificateSource } from './certificates/serving-certificate.ts'
import { writeKubeconfig } from './kubeconfig.ts'

export interface SecureAddress {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
}

export interface SecureFrontOptions {
  readonly server: Pick<ApiServer, 'listen'>
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
  /** The certificate is renewed no more; the server closes its socket itself. */
  close(): void
}

/** Listens, tells clients how to reach it, and does both again with every new certificate. */
export async function openSecureFront(options: SecureFrontOptions): Promise<SecureFront> {
  const { server, address, source, kubeconfig, clock, log } = options
  const first = await source.current()
  const listening = await server.listen({ ...address, tls: first })
  const tell = (authority: string | undefined): Promise<void> =>
    writeKubeconfig(kubeconfig, { server: listening.url, authority })
  await tell(first.authority)
  const close = followCertificate({
    ...{ source, clock, first },
    onChange: async (next) => {
      listening.present(next)
      await tell(next.authority)
      log.info('the serving certificate was renewed')
    },
    onFailure: (err) => log.error({ err }, 'the serving certificate could not be renewed'),
  })
  return { url: listening.url, close }
}
