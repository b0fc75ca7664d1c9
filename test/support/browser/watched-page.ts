import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

/** A page, with a record of everything that must not happen in it. */
export interface WatchedPage {
  readonly page: Page
  /** Errors of scripts, messages of the console above information, violations of the policy. */
  readonly errors: readonly string[]
  /** Origins of all requests. */
  readonly origins: ReadonlySet<string>
}

/** Milliseconds to wait for a page. On a slow machine, two readings of a large page take half a minute. */
const TIMEOUT_MS = 120_000

/** Opens a page in a context of its own. */
export async function watchedPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  context.setDefaultTimeout(TIMEOUT_MS)
  const page = await context.newPage()
  const errors: string[] = []
  const origins = new Set<string>()
  page.on('pageerror', (error) => errors.push(String(error)))
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) errors.push(message.text())
  })
  page.on('request', (request) => origins.add(new URL(request.url()).origin))
  return { page, errors, origins }
}
