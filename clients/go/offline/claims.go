package offline

import (
	"keyshelf.example/keyshelf/internal/values"
)

// Named is a slug with its name.
type Named struct{ Slug, Name string }

// License is the license version of a bundle.
type License struct {
	Slug, Family, Version, Name, Type string
	// Start and End are ISO 8601 texts. End is when access ends, grace included; empty for never.
	Start, End string
	// TermEnd is when grace begins; empty where the term has no end, or it is not known.
	TermEnd string
}

// Binding names the components of a machine, and how many of them must match.
type Binding struct {
	Match int64
	Of    []string
}

// Entitlement is what a bundle grants. Members has all its properties: limit, used and others of a NUMBER, value of a
// BOOLEAN or a CONFIG.
type Entitlement struct {
	Slug, Type string
	Members    map[string]any
}

// Claims are the claims of a bundle. Times are seconds since 1970.
type Claims struct {
	Issuer, Subject, ID                   string
	Sequence                              int64
	IssuedAt, NotBefore, RenewAt, Expires int64
	Instance, Customer                    Named
	License                               License
	Entitlements                          []Entitlement
	// Complete says whether Entitlements has all entitlements of the organization.
	Complete bool
	Periods  map[string]any
	// Flags are the values of feature flags as parsed JSON; numbers are json.Number.
	Flags map[string]any
	// Rules are the feature flags, as far as they depend on the caller, for EvaluateRule. They are nil where the claims have
	// none, because the credential may not read them or they are too large.
	Rules []map[string]any
	// Away is what answers after Expires: DENY or ALLOW; empty where the claims do not say it.
	Away string
	// Tranche is nil where the claims have none that can be read.
	Tranche    *Tranche
	Zone       map[string]any
	Release    map[string]any
	Binding    *Binding
	UsageUntil int64
	// Next is the key that will sign later bundles; nil where there is none.
	Next map[string]any

	// known is nil in claims that were not parsed.
	known *known
}

// UnmarshalJSON reads claims and checks that they are whole.
func (claims *Claims) UnmarshalJSON(data []byte) error {
	parsed, err := values.ParseJSON(data)
	if err != nil {
		return err
	}
	read, err := claimsOf(values.Object(parsed))
	*claims = read
	return err
}

// reader reads members of a type. Once one is missing or of another type, the claims are malformed.
type reader struct {
	members     map[string]any
	isMalformed *bool
}

func (read reader) require(holds bool) {
	if !holds {
		*read.isMalformed = true
	}
}

func (read reader) text(name string) string {
	text, ok := values.StringOf(read.members[name])
	read.require(ok)
	return text
}

func (read reader) instant(name string) string {
	text := read.text(name)
	_, ok := values.Millis(text)
	read.require(ok)
	return text
}

func (read reader) count(name string) int64 {
	count, ok := values.Count(read.members[name])
	read.require(ok)
	return count
}

func (read reader) positive(name string) int64 {
	count := read.count(name)
	read.require(count > 0)
	return count
}

func (read reader) object(name string) reader {
	object := values.Object(read.members[name])
	read.require(object != nil)
	return reader{object, read.isMalformed}
}

// objectOrNull reads an object; the members are nil for null.
func (read reader) objectOrNull(name string) reader {
	if value, exists := read.members[name]; exists && value == nil {
		return reader{nil, read.isMalformed}
	}
	return read.object(name)
}

func (read reader) list(name string) []any {
	list, ok := read.members[name].([]any)
	read.require(ok)
	return list
}

func (read reader) objects(name string) []reader {
	var objects []reader
	for _, one := range read.list(name) {
		object := values.Object(one)
		read.require(object != nil)
		objects = append(objects, reader{object, read.isMalformed})
	}
	return objects
}

func (read reader) named(name string) Named {
	object := read.object(name)
	return Named{object.text("slug"), object.text("name")}
}

func (read reader) binding(name string) *Binding {
	object := read.objectOrNull(name)
	if object.members == nil {
		return nil
	}
	binding := Binding{Match: object.positive("match")}
	for _, one := range object.list("of") {
		text, ok := values.StringOf(one)
		read.require(ok)
		binding.Of = append(binding.Of, text)
	}
	return &binding
}

func (read reader) license(name string) License {
	object := read.object(name)
	license := License{
		Slug:    object.text("slug"),
		Family:  object.text("family"),
		Version: object.text("version"),
		Name:    object.text("name"),
		Type:    object.text("type"),
		Start:   object.instant("start"),
	}
	if end, exists := object.members["end"]; !exists || end != nil {
		license.End = object.instant("end")
	}
	license.TermEnd, _ = values.StringOf(object.members["termEnd"])
	return license
}

// trancheOf reads a tranche. One that cannot be read pays nothing.
func trancheOf(value any) *Tranche {
	object := values.Object(value)
	source, isText := values.StringOf(object["source"])
	lines, isCount := values.Count(object["lines"])
	head, isHead := values.StringOf(object["head"])
	until, isTime := values.Count(object["until"])
	if !isText || !isCount || !isHead || !isTime {
		return nil
	}
	return &Tranche{source, Position{lines, head}, until, values.Object(object["of"])}
}

// claimsOf reads the claims of a bundle. Unknown properties are ignored.
func claimsOf(members map[string]any) (Claims, error) {
	isMalformed := members == nil
	read := reader{members, &isMalformed}
	claims := Claims{
		Issuer:     read.text("iss"),
		Subject:    read.text("sub"),
		ID:         read.text("jti"),
		Sequence:   read.positive("seq"),
		IssuedAt:   read.count("iat"),
		NotBefore:  read.count("nbf"),
		RenewAt:    read.count("renew"),
		Expires:    read.count("exp"),
		Instance:   read.named("instance"),
		Customer:   read.named("customer"),
		License:    read.license("license"),
		Periods:    read.object("periods").members,
		Flags:      read.object("flags").members,
		Zone:       read.objectOrNull("zone").members,
		Release:    read.objectOrNull("release").members,
		Binding:    read.binding("binding"),
		UsageUntil: read.object("usage").count("until"),
		known:      newKnown(),
	}
	for _, one := range read.objects("entitlements") {
		claims.Entitlements = append(claims.Entitlements, Entitlement{one.text("slug"), one.text("type"), one.members})
	}
	claims.Complete = members["complete"] == true
	claims.Away, _ = values.StringOf(values.Object(members["away"])["then"])
	claims.Tranche = trancheOf(members["tranche"])
	if rules, isList := members["rules"].([]any); isList {
		claims.Rules = make([]map[string]any, len(rules))
		for place, rule := range rules {
			claims.Rules[place] = values.Object(rule)
		}
	}
	if next := members["next"]; next != nil {
		_, _, isKey := keyOf(next)
		read.require(isKey)
		claims.Next = values.Object(next)
	}
	read.require(claims.IssuedAt <= claims.RenewAt && claims.RenewAt <= claims.Expires)
	if isMalformed {
		return Claims{}, fault(Malformed)
	}
	return claims, nil
}

// Revocation voids, of the instance Subject, the bundle Sequence and all before it.
type Revocation struct {
	Subject  string
	Sequence int64
}

// RevocationList are the claims of a revocation list.
type RevocationList struct {
	Issuer            string
	Number            int64
	IssuedAt, Expires int64
	Revoked           []Revocation
}

func revocationsOf(members map[string]any) (RevocationList, error) {
	isMalformed := false
	read := reader{members, &isMalformed}
	list := RevocationList{
		Issuer:   read.text("iss"),
		Number:   read.count("number"),
		IssuedAt: read.count("iat"),
		Expires:  read.count("exp"),
	}
	for _, one := range read.objects("revoked") {
		list.Revoked = append(list.Revoked, Revocation{one.text("sub"), one.count("seq")})
	}
	if isMalformed {
		return RevocationList{}, fault(Malformed)
	}
	return list, nil
}
