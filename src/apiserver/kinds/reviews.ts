import type { Action } from '../../auth/action.ts'
import type { Authorizer } from '../../auth/rbac/authorizer.ts'
import type { PolicyRule } from '../../auth/rbac/policy-rule.ts'
import type { User } from '../../auth/user.ts'
import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { canonicalGroup } from '../../resources/api-groups.ts'
import type { Reader } from '../../resources/reader.ts'
import type { Resource, Review, ReviewContext } from '../resource/resource.ts'
import { badRequest, type StatusError } from '../status/status.ts'

const versions = [{ group: 'authorization.k8s.io', version: 'v1' }]

export const subjectAccessReviews = reviewResource({
  plural: 'subjectaccessreviews',
  singular: 'subjectaccessreview',
  kind: 'SubjectAccessReview',
  namespaced: false,
  versions,
  validate: checkSubjectAccessReview,
  review: reviewNamedUser,
})

export const localSubjectAccessReviews = reviewResource({
  plural: 'localsubjectaccessreviews',
  singular: 'localsubjectaccessreview',
  kind: 'LocalSubjectAccessReview',
  namespaced: true,
  versions,
  validate: checkLocalSubjectAccessReview,
  review: reviewNamedUser,
})

export const selfSubjectAccessReviews = reviewResource({
  plural: 'selfsubjectaccessreviews',
  singular: 'selfsubjectaccessreview',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
  versions,
  validate: checkSelfSubjectAccessReview,
  review: reviewOwnAccess,
})

export const selfSubjectRulesReviews = reviewResource({
  plural: 'selfsubjectrulesreviews',
  singular: 'selfsubjectrulesreview',
  kind: 'SelfSubjectRulesReview',
  namespaced: false,
  versions,
  review: reviewOwnRules,
})

function checkSubjectAccessReview(object: Reader): void {
  const spec = object.object('spec')
  checkAccess(spec)
  checkUser(spec)
}

/** Answers whether the named user may do something. */
function reviewNamedUser({ authorizer }: ReviewContext, question: JsonObject): JsonObject {
  const spec = objectAt(question, 'spec')
  return accessStatus(authorizer, reviewedUser(spec), spec)
}

/**
 * Such a review may only be about resources of its own namespace, so that its author learns nothing about
 * another one.
 */
function checkLocalSubjectAccessReview(object: Reader): void {
  const spec = object.object('spec')
  checkAccess(spec)
  checkUser(spec)
  if (spec.value('nonResourceAttributes') !== undefined) {
    spec.refuse('nonResourceAttributes', 'must be absent: a path is in no namespace')
  }
  if (spec.value('resourceAttributes') === undefined) return
  const attributes = spec.object('resourceAttributes')
  if (attributes.value('namespace') !== object.object('metadata').value('namespace')) {
    attributes.refuse('namespace', 'must be the namespace of the review')
  }
}

function checkSelfSubjectAccessReview(object: Reader): void {
  checkAccess(object.object('spec'))
}

/** Answers whether the user of the request may do something. */
function reviewOwnAccess({ authorizer, user }: ReviewContext, question: JsonObject): JsonObject {
  return accessStatus(authorizer, user, objectAt(question, 'spec'))
}

/**
 * Everything that the user of the request may do in a namespace. Paths are in no namespace: only grants for the
 * whole cluster count for them, as in the authorization of a request.
 */
function reviewOwnRules(
  { authorizer, user }: ReviewContext,
  question: JsonObject,
): JsonObject | StatusError {
  const namespace = stringAt(question, 'spec', 'namespace')
  if (namespace === '') return badRequest('spec.namespace is required')
  const resourceRules = authorizer
    .rulesOf(user, namespace)
    .filter(({ resources }) => resources.length > 0)
    .map(resourceRule)
  const nonResourceRules = authorizer
    .rulesOf(user, '')
    .filter(({ nonResourceURLs }) => nonResourceURLs.length > 0)
    .map(({ verbs, nonResourceURLs }) => ({
      verbs: [...verbs],
      nonResourceURLs: [...nonResourceURLs],
    }))
  return { resourceRules, nonResourceRules, incomplete: false }
}

function resourceRule({ verbs, apiGroups, resources, resourceNames }: PolicyRule): JsonObject {
  return {
    verbs: [...verbs],
    apiGroups: [...apiGroups],
    resources: [...resources],
    ...(resourceNames.length > 0 && { resourceNames: [...resourceNames] }),
  }
}

/** An access review is about either a resource or a path. */
function checkAccess(spec: Reader): void {
  const isAbout = (key: string): boolean => spec.value(key) !== undefined
  const isAboutResource = isAbout('resourceAttributes')
  if (isAboutResource !== isAbout('nonResourceAttributes')) return
  if (isAboutResource) {
    spec.refuse('nonResourceAttributes', 'must be absent beside resourceAttributes')
  } else {
    spec.refuse('resourceAttributes', 'must be given, or else nonResourceAttributes must')
  }
}

/** An access review about any user must name a user or groups. */
function checkUser(spec: Reader): void {
  const user = spec.text('user') ?? ''
  if (user === '' && spec.list('groups').length === 0) {
    spec.refuse('user', 'must be given, or else groups must')
  }
}

/** The user that an access review is about. */
function reviewedUser(spec: JsonObject): User {
  const uid = stringAt(spec, 'uid')
  const extra = Object.keys(objectAt(spec, 'extra')).map(
    (key) => [key, texts(spec, 'extra', key)] as const,
  )
  return {
    name: stringAt(spec, 'user'),
    groups: texts(spec, 'groups'),
    ...(uid !== '' && { uid }),
    ...(extra.length > 0 && { extra: new Map(extra) }),
  }
}

/** The `status` of an access review: the decision of the authorizer and its reason. */
function accessStatus(authorizer: Authorizer, user: User, spec: JsonObject): JsonObject {
  const { isAllowed, reason } = authorizer.authorize(user, actionOf(spec))
  return { allowed: isAllowed, ...(reason !== '' && { reason }) }
}

function actionOf(spec: JsonObject): Action {
  const path = objectAt(spec, 'nonResourceAttributes')
  if (valueAt(spec, 'resourceAttributes') === undefined) {
    return { verb: stringAt(path, 'verb'), path: stringAt(path, 'path') }
  }
  const attributes = objectAt(spec, 'resourceAttributes')
  return {
    verb: stringAt(attributes, 'verb'),
    group: canonicalGroup(stringAt(attributes, 'group')),
    resource: stringAt(attributes, 'resource'),
    subresource: stringAt(attributes, 'subresource'),
    namespace: stringAt(attributes, 'namespace'),
    name: stringAt(attributes, 'name'),
  }
}

function texts(spec: JsonObject, ...path: readonly string[]): readonly string[] {
  return arrayAt(spec, ...path).filter((one) => typeof one === 'string')
}

type Declared = Pick<Resource, 'plural' | 'singular' | 'kind' | 'namespaced' | 'versions'> &
  Partial<Pick<Resource, 'validate' | 'isConfidential'>> & { readonly review: Review }

/** A kind whose objects are requests that the server answers and does not store. */
function reviewResource(declared: Declared): Resource {
  return {
    validate: () => undefined,
    ...declared,
    columns: [],
    validateUpdate: 'none',
    defaults: 'none',
  }
}

const GROUP = 'authentication.k8s.io'

export const tokenReviews = reviewResource({
  plural: 'tokenreviews',
  singular: 'tokenreview',
  kind: 'TokenReview',
  namespaced: false,
  isConfidential: true,
  versions: [{ group: GROUP, version: 'v1' }],
  review: reviewToken,
})

/** In every version that Kubernetes has had since 1.26; the versions are identical. */
export const selfSubjectReviews = reviewResource({
  plural: 'selfsubjectreviews',
  singular: 'selfsubjectreview',
  kind: 'SelfSubjectReview',
  namespaced: false,
  versions: ['v1', 'v1beta1', 'v1alpha1'].map((version) => ({ group: GROUP, version })),
  review: reviewSelf,
})

/** Answers whose token it is. The reason of a rejection is not told, because it would help to forge a token. */
async function reviewToken(
  { tokens }: ReviewContext,
  question: JsonObject,
): Promise<JsonObject | StatusError> {
  const token = stringAt(question, 'spec', 'token')
  if (token === '') return badRequest('spec.token is required')
  const audiences = arrayAt(question, 'spec', 'audiences').filter((one) => typeof one === 'string')
  const found = await tokens.review(token, audiences)
  if ('rejected' in found) return { authenticated: false, error: 'the token is not accepted' }
  return { authenticated: true, user: userInfo(found.user), audiences: [...found.audiences] }
}

/** Answers who the user of the request is. */
function reviewSelf({ user }: ReviewContext): JsonObject {
  return { userInfo: userInfo(user) }
}

/** A user as clients read it (`authentication.k8s.io/v1` UserInfo). */
function userInfo({ name, uid, groups, extra }: User): JsonObject {
  return {
    username: name,
    ...(uid !== undefined && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(extra !== undefined &&
      extra.size > 0 && {
        extra: Object.fromEntries([...extra].map(([key, values]) => [key, [...values]])),
      }),
  }
}
