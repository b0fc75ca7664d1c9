import { html } from 'htm/preact'

/** namespace/name; the name is emphasised, since readers look for it. */
export function ServiceName({ service }: { readonly service: string }) {
  const [namespace, name] = service.split('/')
  return html`<span class="namespace">${namespace}/</span>${name}`
}
