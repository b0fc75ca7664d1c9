import { parse } from 'yaml'
import { type OidcProvider, startOidcProvider } from '../identity/oidc-provider.ts'
import { type OperatedPage, operatePage } from './operated-page.ts'
import { blocksOf } from './page-section.ts'

const PAGE = 'security.md'

/** The page on security, whose commands run against a server of its own, which also has users of an OIDC provider. */
export interface SecurityPage extends OperatedPage {
  readonly provider: OidcProvider
}

/** Starts a server with the settings that the page shows, except the provider's address and the paths. */
export async function openSecurityPage(): Promise<SecurityPage> {
  const provider = await startOidcProvider()
  const { serviceAccounts, authentication } = shownSettings(provider.issuer)
  const oidc = { ...authentication.oidc, caFile: '/etc/orch-server/oidc-ca.crt' }
  const page = await operatePage({
    page: PAGE,
    settings: {
      serviceAccounts,
      authentication: { ...authentication, oidc, tokenFile: '/etc/orch-server/tokens.csv' },
      audit: {
        policyFile: '/opt/node-proxy/config/audit-policy.yaml',
        logPath: '/var/log/orch-server/audit.log',
      },
    },
    files: {
      'oidc-ca.crt': provider.authority,
      'tokens.csv': 'a-token-of-yesterday,robot,robot-1,"dev"\n',
    },
  })
  return {
    ...page,
    provider,
    [Symbol.asyncDispose]: async () => {
      await page[Symbol.asyncDispose]()
      await provider[Symbol.asyncDispose]()
    },
  }
}

/** The settings of sections of the page that do not exclude each other. */
function shownSettings(issuer: string) {
  const shown = ['Give a person access', 'Let others verify tokens'].map(
    (heading) =>
      parse(blocksOf(PAGE, heading, 'yaml')[0]!.replace('https://id.example.com', issuer)) as Shown,
  )
  return {
    serviceAccounts: Object.assign({}, ...shown.map((each) => each.serviceAccounts)) as object,
    authentication: Object.assign(
      {},
      ...shown.map((each) => each.authentication),
    ) as Shown['authentication'],
  }
}

interface Shown {
  readonly serviceAccounts?: object
  readonly authentication: { readonly oidc?: object }
}
