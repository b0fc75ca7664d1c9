import { readAuditPolicy } from '../apiserver/audit/read-policy.ts'
import { loadKubeconfig } from '../client/connection/kubeconfig.ts'
import { systemClock } from '../lib/clock.ts'
import { NodeProxyError } from '../lib/error.ts'
import { kubeconfigPath, readOwnKubeconfig } from './access/kubeconfig.ts'
import { socketPathIn } from './access/own-socket.ts'
import { givenCertificate } from './certificates/serving-certificate.ts'
import type { OrchServerConfiguration } from './config/configuration.ts'
import { missingKeyFile, readKeyFile } from './encryption/key-file.ts'
import { checkKeyFiles } from './identity/account-keys.ts'
import { readGivenAuthorities } from './identity/client-authorities.ts'
import { readGivenKubeletFiles } from './identity/kubelet-credentials.ts'
import { readOidcAuthorities } from './identity/oidc-provider.ts'
import { readTokenFile } from './identity/token-file.ts'
import type { AuditSettings } from './open-audit.ts'
import { readEtcdTls } from './storage/open-store.ts'

/**
 * Why a start with this configuration must fail: unusable certificates or keys (those of the encryption
 * included), an unreadable audit policy, a kubeconfig that belongs to another program, or a data directory
 * whose path is too long for its socket. Undefined: no such reason. Only reads files.
 */
export async function checkStart(
  config: OrchServerConfiguration,
): Promise<NodeProxyError | undefined> {
  const { dataDir, encryption, etcd, tls, authentication, kubelet } = config
  try {
    socketPathIn(dataDir)
    if (tls.certFile !== '') await givenCertificate(tls.certFile, tls.keyFile).current()
    if (etcd.servers.length > 0) await readEtcdTls(etcd)
    await checkAudit(config.audit)
    await readGivenAuthorities(authentication)
    await readGivenKubeletFiles(kubelet)
    await checkKeyFiles(config)
    if (authentication.tokenFile !== '') await readTokenFile(authentication.tokenFile)
    await readOidcAuthorities(authentication.oidc)
    if (encryption.keyFile !== '') await requireKeyFile(encryption.keyFile)
    await readOwnKubeconfig(kubeconfigPath(config))
    return undefined
  } catch (error) {
    if (error instanceof NodeProxyError) return error
    throw error
  }
}

async function requireKeyFile(path: string): Promise<void> {
  if ((await readKeyFile(path)) === undefined) throw missingKeyFile(path)
}

/**
 * Reads the files that settings of the audit log name, and creates nothing.
 * @throws NP_APISERVER_AUDIT_POLICY, NP_CLIENT_KUBECONFIG and other codes of kubeconfigs
 */
async function checkAudit({
  policyFile,
  webhookConfigFile,
}: Pick<AuditSettings, 'policyFile' | 'webhookConfigFile'>): Promise<void> {
  if (policyFile !== '') await readAuditPolicy(policyFile)
  if (webhookConfigFile === '') return
  await loadKubeconfig({ path: webhookConfigFile, master: undefined, clock: systemClock })
}
