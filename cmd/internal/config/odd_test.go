package config

import "testing"

// Where the field cases of configuration, security and routing have their right value:
//
//	CF-03                TestTable of relay/filter: case does not matter, as in Canal, whatever the server's variable
//	CF-04                scan.TestDestinationsComeChangeAndGo, TestBrokenDestination, TestNamedFiles; TestStackReload
//	CF-06                TestEnvironment, TestFindings, TestVariablesThatLookLikeKeys; the command config: inforce.TestWhereValuesComeFrom
//	CF-07                TestOddNames; TestStackKafkaPassword logs in to real servers with such a password
//	KD-08                TestChangedKeys of cmd/canal-relay, TestStackOptions
//	KD-10                TestTableWithoutKeyIsWarnedOfOnce of mqstarter
//	KD-11                TestPartitionsFromTopic of mqstarter; TestMissingPartition of mqstarter/kafka
//	KD-13, SE-01         TestStackKafkaPassword, TestStackKafkaSecurity; TestSecretsAreNotShown; everything that comes out: TestStackSecrets
//	SE-03                TestNothingCanBeDoneOverHTTP of metrics; TestNoDefaultSecret of keys
//	KD-15                TestIsolate of relay, TestBarrier of mqstarter; TestStackOptions
//	KD-18                TestStatementWithoutTopic, TestRowsWithoutTopic of mqstarter
//	KD-20                TestTopic, TestNewErrors of mqstarter/route; TestRouting of cmd/canal-relay

// TestOddNames is the field case CF-07.
func TestOddNames(t *testing.T) {
	c := newConf(t)
	const name, password = "a.b-c 中", `p@ss:w#rd%/"`
	c.write(name+"/instance.properties", `canal.instance.master.address = [::1]:3306
canal.instance.dbPassword = `+password+`
canal.mq.topic = t
`)
	c.server = append(c.server, `canal.destinations = a.b-c \u4e2d`)
	i := c.mustLoad().Instance(name)
	if i == nil || i.Source.Addr != "[::1]:3306" || i.Source.Password != password {
		t.Errorf("%v", i)
	}
	for _, bad := range []string{"../up", "a/b", `a\\b`} {
		c.server = append(c.server, "canal.destinations = "+bad)
		if got := c.problems(); len(got) != 1 {
			t.Errorf("%s: %q", bad, got)
		}
	}
}
